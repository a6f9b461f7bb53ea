#include "runtime/run_checkpoint.h"

#include "feroma/report/summary.h"
#include "feroma/store/checkpoint.h"

namespace feroma {
namespace {

/// Only what the model store needs of a round.
void put_round(ArchiveWriter& archive, const RoundRecord& round) {
  archive.put<std::uint64_t>(round.clients.size());
  for (const ClientRecord& client : round.clients) {
    archive.put(client.client);
    archive.put<std::int32_t>(client.distribution);
    archive.put(client.accuracy_after);
  }
}

RoundRecord get_round(ArchiveReader& archive) {
  RoundRecord round;
  const auto clients = archive.get<std::uint64_t>();
  for (std::uint64_t i = 0; i < clients; ++i) {
    ClientRecord client;
    client.client = archive.get<std::uint32_t>();
    client.distribution = archive.get<std::int32_t>();
    client.accuracy_after = archive.get<double>();
    round.clients.push_back(std::move(client));
  }
  return round;
}

}  // namespace

void write_run_checkpoint(const std::filesystem::path& path, const RunCheckpoint& checkpoint) {
  ArchiveWriter archive;
  archive.put(std::string_view(summary_json({{}, checkpoint.results})));
  archive.put(checkpoint.sizes.metrics);
  archive.put(checkpoint.sizes.clients);
  archive.put(checkpoint.sizes.events);
  put_round(archive, checkpoint.last_round);
  archive.put(std::span<const std::byte>(checkpoint.loop));
  archive.put(checkpoint.input_scale);
  for (const auto& [ledger, counts] : checkpoint.releases) {
    archive.put(std::string_view(ledger));
    put(archive, counts);
  }
  write_checkpoint(path, archive.bytes());
}

RunCheckpoint read_run_checkpoint(const std::filesystem::path& path) {
  const Bytes payload = read_checkpoint(path);
  ArchiveReader archive(payload, path.string());
  RunCheckpoint checkpoint;
  checkpoint.results = parse_summary(archive.get_string(), path.string()).results;
  checkpoint.sizes.metrics = archive.get<std::uint64_t>();
  checkpoint.sizes.clients = archive.get<std::uint64_t>();
  checkpoint.sizes.events = archive.get<std::uint64_t>();
  checkpoint.last_round = get_round(archive);
  checkpoint.loop = archive.get_vector<std::byte>();
  if (!archive.at_end()) {
    checkpoint.input_scale = archive.get_vector<float>();
  }
  while (!archive.at_end()) {
    const std::string ledger = archive.get_string();
    checkpoint.releases[ledger] = get_release_counts(archive);
  }
  return checkpoint;
}

}  // namespace feroma
