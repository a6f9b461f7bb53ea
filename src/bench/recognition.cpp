#include <fmt/core.h>

#include "bench/pairs.h"
#include "bench/requirement_parts.h"
#include "feroma/mapping/match.h"
#include "feroma/profile/jitter.h"

namespace feroma::detail {
namespace {

/// Profiles by round and client, and which data each of them describes.
struct Sent {
  std::vector<std::vector<Profile>> profiles;
  std::vector<std::vector<const DataVersion*>> versions;
};

/// What clients send in every round; a cached profile again and again.
Sent sent_profiles(Probe& probe) {
  const auto rounds = static_cast<std::size_t>(probe.cell().federation().options().rounds - probe.first_round() + 1);
  const auto clients = static_cast<std::size_t>(probe.cell().federation().options().clients);
  Sent sent{std::vector(rounds, std::vector<Profile>(clients)),
            std::vector(rounds, std::vector<const DataVersion*>(clients))};
  const std::vector<DataVersion>& versions = probe.versions();
  probe.cell().each(versions.size(), [&](std::size_t v, Trainer& trainer) {
    const DataVersion& version = versions[v];
    const EncodedSamples samples = probe.profiled_samples(version, version.rounds.front(), trainer);
    for (const Round round : version.rounds) {
      const auto t = static_cast<std::size_t>(round - probe.first_round());
      const Round made = probe.options().cache ? version.rounds.front() : round;
      sent.profiles[t][to_index(version.client)] = probe.profile_of(version, made, samples);
      sent.versions[t][to_index(version.client)] = &version;
    }
  });
  return sent;
}

/// The share of unchanged clients that their profile gives away, over all rounds.
double found_again(const Sent& sent, const ProfileShape& shape, Metric metric) {
  double hits = 0;
  double cases = 0;
  for (std::size_t t = 1; t < sent.profiles.size(); ++t) {
    std::vector<std::size_t> unchanged;
    for (std::size_t client = 0; client < sent.profiles[t].size(); ++client) {
      if (sent.versions[t][client] == sent.versions[t - 1][client]) {
        unchanged.push_back(client);
      }
    }
    std::vector<Profile> pool = sent.profiles[t - 1];
    pool.insert(pool.end(), sent.profiles[t].begin(), sent.profiles[t].end());
    const Gauge gauge = fit_gauge(metric, shape, /*label_free=*/false, {}, pool);
    const Distances distances = compare(gauge, sent.profiles[t], sent.profiles[t - 1]);
    const auto count = static_cast<double>(unchanged.size());
    hits += count * nearest_is_own(distances.squared, unchanged);
    cases += count;
  }
  return cases > 0 ? hits / cases : 0;
}

struct Chance {
  double cases = 0;
  double share = 0;  ///< found by somebody who knows the distribution and nothing else
};

Chance chance_of(const Sent& sent) {
  Chance chance;
  for (std::size_t t = 1; t < sent.versions.size(); ++t) {
    for (std::size_t client = 0; client < sent.versions[t].size(); ++client) {
      if (sent.versions[t][client] != sent.versions[t - 1][client]) {
        continue;
      }
      double alike = 0;
      for (const DataVersion* other : sent.versions[t - 1]) {
        alike += other->distribution == sent.versions[t][client]->distribution ? 1 : 0;
      }
      chance.cases += 1;
      chance.share += 1 / alike;
    }
  }
  chance.share = chance.cases > 0 ? chance.share / chance.cases : 0;
  return chance;
}

}  // namespace

void measure_recognition(Probe& probe, std::string_view preset, Requirement& r3) {
  Sent sent = sent_profiles(probe);
  const ProfileShape shape = probe.shape();
  const Chance chance = chance_of(sent);
  r3.results.push_back({fmt::format("found_again_{}", preset),
                        fmt::format("unchanged clients nearest to themselves a round earlier, preset {}", preset),
                        found_again(sent, shape, Metric::euclidean)});
  if (probe.options().cache) {
    for (std::size_t t = 0; t < sent.profiles.size(); ++t) {
      for (std::size_t client = 0; client < sent.profiles[t].size(); ++client) {
        sent.profiles[t][client] = jittered(sent.profiles[t][client], shape, Rng(1).derive("jitter", t, client));
      }
    }
    r3.results.push_back({fmt::format("found_again_{}_jitter", preset), "the same with jitter in every round",
                          found_again(sent, shape, Metric::euclidean)});
    r3.results.push_back({fmt::format("found_again_{}_jitter_reliable", preset),
                          "with jitter, by the noise-aware distance", found_again(sent, shape, Metric::reliable)});
  }
  r3.results.push_back(
      {fmt::format("chance_{}", preset), "what knowing the true distribution alone would give", chance.share});
  r3.results.push_back({fmt::format("cases_{}", preset), "unchanged clients, over all rounds", chance.cases});
}

}  // namespace feroma::detail
