#include "bench/probe.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/workload.h"
#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

/// The first id whose distribution is the same: the paper's generator may draw one set of classes twice.
int canonical_id(const Bank& bank, int id) {
  if (!bank.lists(id)) {
    return id;
  }
  const Bank::Entry& entry = bank.entry(id);
  const auto same = std::find_if(bank.entries.begin(), bank.entries.end(), [&](const Bank::Entry& other) {
    return other.recipe == entry.recipe && other.keeps_class == entry.keeps_class && other.domain == entry.domain;
  });
  return static_cast<int>(same - bank.entries.begin()) + 1;
}

std::vector<DataVersion> versions_from(const Federation& federation, Round first) {
  std::vector<DataVersion> versions;
  const Schedule& schedule = federation.schedule();
  for (std::size_t client = 0; client < schedule.ids.size(); ++client) {
    int last = -1;
    for (Round round = first; round <= federation.options().rounds; ++round) {
      const int window = schedule.stage_of_round[static_cast<std::size_t>(round)];
      if (window != last) {
        versions.push_back({static_cast<ClientId>(client),
                            window,
                            canonical_id(schedule.bank, schedule.ids[client][static_cast<std::size_t>(window)]),
                            {}});
        last = window;
      }
      versions.back().rounds.push_back(round);
    }
  }
  return versions;
}

}  // namespace

Probe::Probe(std::string_view preset, const std::vector<std::string>& overrides, int threads)
    : options_(feroma_preset(preset)),
      experiment_(experiment_of(overhead_config(), overrides)),
      cell_(experiment_, threads),
      loop_(cell_.loop(fmt::format("feroma-{}", preset))),
      versions_(versions_from(cell_.federation(), options_.warmup_rounds + 1)) {
  for (Round round = 1; round <= first_round(); ++round) {
    static_cast<void>(loop_.play_round());
  }
  const Memories memories = loop_.memories();
  require(!memories.empty(), ErrorCode::internal, "[bench] no client took part");
  extractor_ = extractor_from(*memories.begin()->second, encoder_width(options_, cell_.model()));
}

Rng Probe::client_rng(ClientId client, Round round) const {
  return cell_.rng().derive("client", to_index(client), static_cast<std::uint64_t>(round));
}

EncodedSamples Probe::profiled_samples(const DataVersion& version, Round round, Trainer& trainer) const {
  const ClientShard shard = cell_.federation().shard(version.client, round);
  const View view =
      profile_view(options_, shard.train, shard.held_out, client_rng(version.client, round).derive("profile"));
  return encode_samples(options_, extractor_.encoder, trainer, view, /*labelled=*/true);
}

EncodedSamples Probe::all_samples(const DataVersion& version, const ParametersPtr& encoder, Trainer& trainer) const {
  const ClientShard shard = cell_.federation().shard(version.client, version.rounds.front());
  View view = shard.train;
  view.items.insert(view.items.end(), shard.held_out.items.begin(), shard.held_out.items.end());
  return encode_samples(options_, encoder, trainer, view, /*labelled=*/true);
}

Profile Probe::profile_of(const DataVersion& version, Round round, const EncodedSamples& samples) const {
  return extract_profile(options_, extractor_, samples, cell_.model().classes, options_.subsampling,
                         client_rng(version.client, round).derive("subsampling"));
}

Profile Probe::sent_profile(ClientId client) const {
  const Message& memory = *loop_.memories().at(client);
  return decode(memory.floats("profile"), shape(), memory.integer("profile_samples"));
}

StageSeconds Probe::finish() {
  while (loop_.finished_rounds() < loop_.rounds()) {
    static_cast<void>(loop_.play_round());
  }
  return loop_.totals().stages;
}

}  // namespace feroma::detail
