#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>

#include "bench/pairs.h"
#include "bench/requirement_parts.h"
#include "feroma/mapping/match.h"
#include "feroma/metrics/auc.h"

namespace feroma::detail {
namespace {

constexpr double kWantedAuc = 0.98;

/// A profile like auto's but shorter, or of fewer samples.
struct Variant {
  std::string_view name;
  std::string_view about;
  bool full_marginal = true;
  int dimensions = 10;
  std::size_t samples = 400;
};
/// The first one is preset auto.
constexpr std::array<Variant, 6> kVariants{{
    {"auto", "preset auto"},
    {"short", "profile.full_marginal = false", false},
    {"short_20", "profile.full_marginal = false, profile.dimensions = 20", false, 20},
    {"short_300", "profile.full_marginal = false, profile.max_samples = 300", false, 10, 300},
    {"samples_300", "profile.max_samples = 300", true, 10, 300},
    {"samples_200", "profile.max_samples = 200", true, 10, 200},
}};

/// The first so many of samples that are in random order: what a smaller draw would have given.
EncodedSamples first_samples(const EncodedSamples& samples, std::size_t count) {
  count = std::min(count, samples.rows.count());
  EncodedSamples first{{samples.rows.width, {}}, {}};
  const auto values = static_cast<std::ptrdiff_t>(count) * samples.rows.width;
  first.rows.values.assign(samples.rows.values.begin(), samples.rows.values.begin() + values);
  first.labels.assign(samples.labels.begin(), samples.labels.begin() + static_cast<std::ptrdiff_t>(count));
  return first;
}

FeromaOptions options_of(const FeromaOptions& base, const Variant& variant) {
  FeromaOptions options = base;
  options.full_marginal = variant.full_marginal;
  options.dimensions = variant.dimensions;
  return options;
}

/// All profiles of a probe's data versions, as every variant makes them, and the same data in the whole latent space.
struct Measured {
  std::array<std::vector<Profile>, kVariants.size()> profiles;
  std::vector<Profile> latents;  ///< class moments of every sample in every latent coordinate
};

Measured measure_versions(Probe& probe) {
  const std::vector<DataVersion>& versions = probe.versions();
  const int classes = probe.cell().model().classes;
  const int width = encoder_width(probe.options(), probe.cell().model());
  std::array<Extractor, kVariants.size()> extractors;
  Measured measured;
  measured.latents.resize(versions.size());
  for (std::size_t k = 0; k < kVariants.size(); ++k) {
    measured.profiles[k].resize(versions.size());
    // As the server of the run would draw it.
    extractors[k] = {
        probe.extractor().encoder,
        orthonormal_projector(width, kVariants[k].dimensions, probe.cell().rng().derive("server").derive("projector"))};
  }
  probe.cell().each(versions.size(), [&](std::size_t v, Trainer& trainer) {
    const EncodedSamples samples = probe.profiled_samples(versions[v], versions[v].rounds.front(), trainer);
    for (std::size_t k = 0; k < kVariants.size(); ++k) {
      measured.profiles[k][v] =
          extract_profile(options_of(probe.options(), kVariants[k]), extractors[k],
                          first_samples(samples, kVariants[k].samples), classes, Subsampling::off, Rng(0));
    }
    const EncodedSamples all = probe.all_samples(versions[v], probe.extractor().encoder, trainer);
    measured.latents[v] = make_profile(all.rows, all.rows, {all.labels, all.targets}, classes, {}, Rng(0));
  });
  return measured;
}

Matrix reference_distances(const std::vector<Profile>& latents) {
  Matrix distances(latents.size(), latents.size());
  for (std::size_t i = 0; i < latents.size(); ++i) {
    for (std::size_t j = i + 1; j < latents.size(); ++j) {
      distances.at(i, j) = class_wasserstein2(latents[i], latents[j]);
    }
  }
  return distances;
}

/// Distances as the server measures them, by a gauge that saw all of the profiles.
Matrix profile_distances(const std::vector<Profile>& profiles, const ProfileShape& shape, bool label_free) {
  const Gauge gauge = fit_gauge(Metric::reliable, shape, label_free, {}, profiles);
  return compare(gauge, profiles, profiles).plain();
}

/// The share of all reliability that the label-free coordinates have.
double label_free_weight(const std::vector<Profile>& profiles, const ProfileShape& shape) {
  const Gauge gauge = fit_gauge(Metric::reliable, shape, /*label_free=*/false, {}, profiles);
  const std::vector<double>& shares = gauge.reliability.share;
  const auto end = shares.begin() + static_cast<std::ptrdiff_t>(shape.label_free_size());
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  return total > 0 ? std::accumulate(shares.begin(), end, 0.0) / total : 0;
}

/// As the server compares: the profiles of a round with those of the round before, by a gauge that saw these alone. The
/// mean over rounds that have pairs of both kinds.
std::optional<double> auc_by_round(Probe& probe, const std::vector<Profile>& profiles) {
  struct Present {
    std::vector<Profile> profiles;
    std::vector<const DataVersion*> versions;
  };
  std::map<Round, Present> by_round;
  for (std::size_t v = 0; v < profiles.size(); ++v) {
    const DataVersion& version = probe.versions()[v];
    for (const Round round : version.rounds) {
      by_round[round].profiles.push_back(profiles[v]);
      by_round[round].versions.push_back(&version);
    }
  }
  double sum = 0;
  double rounds = 0;
  for (auto now = std::next(by_round.begin()); now != by_round.end(); ++now) {
    const Present& queries = now->second;
    const Present& parents = std::prev(now)->second;
    std::vector<Profile> pool = parents.profiles;
    pool.insert(pool.end(), queries.profiles.begin(), queries.profiles.end());
    const Gauge gauge = fit_gauge(Metric::reliable, probe.shape(), /*label_free=*/false, {}, pool);
    const Distances distances = compare(gauge, queries.profiles, parents.profiles);
    std::vector<double> same;
    std::vector<double> different;
    for (std::size_t q = 0; q < queries.versions.size(); ++q) {
      for (std::size_t p = 0; p < parents.versions.size(); ++p) {
        if (queries.versions[q] != parents.versions[p]) {  // the very same profile tells nothing
          const bool alike = queries.versions[q]->distribution == parents.versions[p]->distribution;
          (alike ? same : different).push_back(distances.squared.at(q, p));
        }
      }
    }
    if (const std::optional<double> auc = area_under_curve(different, same)) {
      sum += *auc;
      rounds += 1;
    }
  }
  return rounds > 0 ? std::optional(sum / rounds) : std::nullopt;
}

}  // namespace

void measure_fidelity(Probe& probe, std::string_view shift, Requirement& r1, Requirement& r5) {
  using enum Target::Side;
  const Measured measured = measure_versions(probe);
  const Matrix reference = reference_distances(measured.latents);
  std::vector<int> ids;
  for (const DataVersion& version : probe.versions()) {
    ids.push_back(version.distribution);
  }
  for (std::size_t k = 0; k < kVariants.size(); ++k) {
    const Variant& variant = kVariants[k];
    const ProfileShape shape = profile_shape(options_of(probe.options(), variant), probe.cell().model());
    const PairScores labelled =
        score_pairs(profile_distances(measured.profiles[k], shape, /*label_free=*/false), reference, ids);
    const PairScores label_free =
        score_pairs(profile_distances(measured.profiles[k], shape, /*label_free=*/true), reference, ids);
    const auto add = [&](Requirement& to, std::string_view name, const std::string& what, std::optional<double> value,
                         std::optional<Target> target = {}) {
      if (value) {
        to.results.push_back({fmt::format("{}_{}", name, shift), what, *value, target});
      } else {
        to.notes.push_back(fmt::format("{}_{}: no pairs of both kinds", name, shift));
      }
    };
    if (k == 0) {
      add(r1, "auc", fmt::format("same from different distribution by profile distance, {}", shift), labelled.auc,
          Target{at_least, kWantedAuc});
      add(r1, "auc_label_free", "the same by the label-free part alone", label_free.auc);
      add(r1, "weight_label_free", "of all the weight that coordinates have, the label-free part's share",
          label_free_weight(measured.profiles[k], shape));
      add(r1, "auc_rounds", "round by round as the server compares, mean over rounds",
          auc_by_round(probe, measured.profiles[k]));
      add(r1, "auc_w2", "the same by the reference distance W2: what the data tell", labelled.reference_auc);
      add(r1, "rank", "rank correlation of profile distance and W2 in the latent space", labelled.rank);
      add(r1, "pairs", "pairs of data versions", static_cast<double>(labelled.pairs));
      add(r1, "same", "of these with the same distribution", static_cast<double>(labelled.same));
    } else {
      add(r5, fmt::format("auc_{}", variant.name), fmt::format("R1's AUC with {}", variant.about), labelled.auc);
      add(r5, fmt::format("auc_label_free_{}", variant.name), "by the label-free part alone", label_free.auc);
    }
  }
}

}  // namespace feroma::detail
