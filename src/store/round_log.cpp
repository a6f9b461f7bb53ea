#include "feroma/store/round_log.h"

#include <set>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

enum class Kind : std::uint8_t { job = 1, started = 2, commit = 3 };

std::vector<float> floats_in(const Bytes& bytes, const std::string& name) {
  ArchiveReader archive(bytes, name);
  std::vector<float> values = archive.get_vector<float>();
  archive.expect_end();
  return values;
}

}  // namespace

RoundLog::RoundLog(const fs::path& folder, const std::function<JobRecord()>& make_job)
    : journal_(folder / "journal"), blobs_(folder / "models") {
  // What is in folders survives only if the folders do.
  detail::sync_folder(folder);
  detail::sync_folder(folder.parent_path());
  const std::vector<Bytes> records = journal_.take_records();
  if (records.empty()) {
    job_ = make_job();
    ArchiveWriter record;
    record.put(Kind::job);
    record.put(std::string_view(job_.id));
    record.put(std::string_view(job_.config));
    journal_.append(record.bytes());
  }
  for (const Bytes& record : records) {
    replay(record);
  }
  // What an unfinished round left may never have reached the disk.
  std::set<std::string> finished(models_.begin(), models_.end());
  finished.insert(state_);
  blobs_.keep_only(finished);
}

void RoundLog::replay(std::span<const std::byte> record) {
  ArchiveReader in(record, "the journal");
  const auto kind = in.get<Kind>();
  switch (kind) {
    case Kind::job:
      job_.id = in.get_string();
      job_.config = in.get_string();
      break;
    case Kind::started: {
      StartedRound round;
      round.round = in.get<std::int32_t>();
      for (const std::uint32_t client : in.get_vector<std::uint32_t>()) {
        round.participants.push_back(static_cast<ClientId>(client));
      }
      started_ = std::move(round);
      break;
    }
    case Kind::commit: {
      const auto round = in.get<std::int32_t>();
      require(round > committed_, ErrorCode::invalid_data, "the journal finishes round {} after round {}", round,
              committed_);
      committed_ = round;
      state_ = in.get_string();
      models_.clear();
      for (auto left = in.get<std::uint32_t>(); left > 0; --left) {
        models_.push_back(in.get_string());
      }
      started_.reset();
      break;
    }
    default: fail(ErrorCode::invalid_data, "the journal has a record of the unknown kind {}", static_cast<int>(kind));
  }
  in.expect_end();
}

void RoundLog::start(const StartedRound& round) {
  ArchiveWriter record;
  record.put(Kind::started);
  record.put<std::int32_t>(round.round);
  std::vector<std::uint32_t> clients;
  for (const ClientId client : round.participants) {
    clients.push_back(to_index(client));
  }
  record.put(clients);
  journal_.append(record.bytes());
  started_ = round;
}

void RoundLog::commit(Round round, const std::function<void(ModelWriter&)>& save) {
  require(round > committed_, ErrorCode::internal, "[log] round {} was finished before", round);
  std::set<std::string> models;
  ArchiveWriter state;
  ModelWriter writer(state, [&](const Parameters& model) {
    // Everybody would train on from it, and no later round could mend it.
    require(model.all_finite(), ErrorCode::invalid_data, "round {}: models must be finite, one has a value that is not",
            round);
    ArchiveWriter values;
    values.put(model.values());
    std::string digest = blobs_.put(values.bytes());
    models.insert(digest);
    return digest;
  });
  fault_point("commit.begun");
  save(writer);
  fault_point("commit.models_written");
  const std::string digest = blobs_.put(state.bytes());
  blobs_.sync();
  fault_point("commit.synced");
  ArchiveWriter record;
  record.put(Kind::commit);
  record.put<std::int32_t>(round);
  record.put(std::string_view(digest));
  record.put<std::uint32_t>(static_cast<std::uint32_t>(models.size()));
  for (const std::string& model : models) {
    record.put(std::string_view(model));
  }
  journal_.append(record.bytes());
  fault_point("commit.appended");
  // From here on the round stands. What only earlier rounds name is of no more use.
  committed_ = round;
  state_ = digest;
  models_.assign(models.begin(), models.end());
  started_.reset();
  models.insert(digest);
  blobs_.keep_only(models);
  fault_point("commit.cleaned");
}

void RoundLog::load(const std::shared_ptr<const ParamLayout>& layout,
                    const std::function<void(ModelReader&)>& load) const {
  require(committed_ > 0, ErrorCode::internal, "[log] no round was finished yet");
  const Bytes bytes = blobs_.get(state_);
  ArchiveReader archive(bytes, "the state of round " + std::to_string(committed_));
  ModelReader reader(archive, layout,
                     [this](const std::string& digest) { return floats_in(blobs_.get(digest), digest); });
  load(reader);
  archive.expect_end();
}

}  // namespace feroma
