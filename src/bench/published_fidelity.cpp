#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/pairs.h"
#include "bench/requirement_parts.h"
#include "feroma/core/error.h"
#include "feroma/mapping/distance.h"
#include "feroma/mapping/divergence.h"
#include "feroma/metrics/rank_correlation.h"
#include "feroma/profile/scaler.h"

namespace feroma::detail {
namespace {

/// Table "eps_R1" of the Feroma paper: absolute errors on MNIST, P(Y|X), 44 850 client-round pairs.
struct PublishedRow {
  std::string_view level;
  Extent wasserstein;
  Extent jensen_shannon;
};
constexpr std::array<PublishedRow, 3> kPublished{{
    {"low", {1.060, 0.194, 0.526, 0.106}, {0.477, 0.030, 0.288, 0.074}},
    {"medium", {1.028, 0.159, 0.479, 0.113}, {0.517, 0.009, 0.332, 0.084}},
    {"high", {1.016, 0.136, 0.458, 0.108}, {0.535, 0.007, 0.352, 0.078}},
}};
/// What a data version looks like outside of profiles.
struct Observed {
  Moments pixels_and_label;
  std::vector<double> joint;  ///< samples by stored class and given label
};

Observed observe(Probe& probe, const DataVersion& version, Trainer& trainer) {
  const int classes = probe.cell().model().classes;
  const EncodedSamples samples = probe.all_samples(version, nullptr, trainer);
  const Profile raw = make_profile(samples.rows, samples.rows, {samples.labels, {}}, classes, {}, Rng(0));
  Observed observed{with_one_hot(raw.marginal, raw.prior),
                    std::vector<double>(static_cast<std::size_t>(classes * classes))};
  const ClientShard shard = probe.cell().federation().shard(version.client, version.rounds.front());
  for (const View* view : {&shard.train, &shard.held_out}) {
    for (std::size_t i = 0; i < view->size(); ++i) {
      const std::int32_t stored = view->samples->labels[view->items[i].source];
      observed.joint[static_cast<std::size_t>(stored * classes + view->label(i))] += 1;
    }
  }
  return observed;
}

/// What one client sent in one round.
struct ClientRound {
  std::vector<float> profile;
  std::size_t version = 0;
  bool first = false;  ///< of the first profiles, to which the reference code fits its scaling
};

std::vector<ClientRound> client_rounds(Probe& paper, std::vector<Observed>& observed) {
  const std::vector<DataVersion>& versions = paper.versions();
  std::vector<std::vector<ClientRound>> of_version(versions.size());
  observed.resize(versions.size());
  paper.cell().each(versions.size(), [&](std::size_t v, Trainer& trainer) {
    observed[v] = observe(paper, versions[v], trainer);
    const EncodedSamples samples = paper.profiled_samples(versions[v], versions[v].rounds.front(), trainer);
    for (const Round round : versions[v].rounds) {
      of_version[v].push_back(
          {encode(paper.profile_of(versions[v], round, samples), paper.shape()), v, round == paper.first_round()});
    }
  });
  std::vector<ClientRound> all;
  for (const auto& some : of_version) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// Values of every pair, in one order.
struct PairValues {
  std::vector<double> profile;
  std::vector<double> scaled;  ///< profile distance after min-max scaling of blocks, as the reference code compares
  std::vector<double> wasserstein;
  std::vector<double> jensen_shannon;
};

PairValues pair_values(const std::vector<ClientRound>& all, const std::vector<Observed>& observed,
                       const ProfileShape& shape) {
  std::vector<std::vector<float>> first;
  for (const ClientRound& one : all) {
    if (one.first) {
      first.push_back(one.profile);
    }
  }
  const BlockScaler scaler = fit_block_scaler(first, shape);
  std::vector<std::vector<double>> plain;
  std::vector<std::vector<double>> scaled;
  for (const ClientRound& one : all) {
    plain.emplace_back(one.profile.begin(), one.profile.end());
    scaled.push_back(scale(scaler, one.profile));
  }
  PairValues values;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = i + 1; j < all.size(); ++j) {
      const Observed& a = observed[all[i].version];
      const Observed& b = observed[all[j].version];
      values.profile.push_back(euclidean(plain[i], plain[j]));
      values.scaled.push_back(euclidean(scaled[i], scaled[j]));
      values.wasserstein.push_back(wasserstein2(a.pixels_and_label, b.pixels_and_label));
      values.jensen_shannon.push_back(std::sqrt(jensen_shannon(a.joint, b.joint)));
    }
  }
  return values;
}

Extent gap(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> gaps;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gaps.push_back(std::abs(a[i] - b[i]));
  }
  return extent_of(gaps);
}

void add_extent(Requirement& r1, const std::string& name, const std::string& what, const Extent& value,
                const Extent& published) {
  r1.results.push_back({name + "_max", what + ", largest", value.max, {}, published.max});
  r1.results.push_back({name + "_min", what + ", smallest", value.min, {}, published.min});
  r1.results.push_back({name + "_mean", what + ", mean", value.mean, {}, published.mean});
  r1.results.push_back({name + "_std", what + ", standard deviation", value.std, {}, published.std});
}

}  // namespace

void measure_published_fidelity(Probe& paper, std::string_view level, Requirement& r1) {
  const auto row = std::find_if(kPublished.begin(), kPublished.end(), [&](const auto& r) { return r.level == level; });
  require(row != kPublished.end(), ErrorCode::internal, "[bench] no published row for level {}", level);
  std::vector<Observed> observed;
  const std::vector<ClientRound> all = client_rounds(paper, observed);
  const PairValues values = pair_values(all, observed, paper.shape());
  add_extent(r1, fmt::format("gap_w2_{}", level), fmt::format("|profile - W2|, P(Y|X) {}", level),
             gap(values.profile, values.wasserstein), row->wasserstein);
  add_extent(r1, fmt::format("gap_js_{}", level), fmt::format("|profile - JS|, P(Y|X) {}", level),
             gap(values.profile, values.jensen_shannon), row->jensen_shannon);
  add_extent(r1, fmt::format("gap_w2_scaled_{}", level), fmt::format("|scaled profile - W2|, P(Y|X) {}", level),
             gap(values.scaled, values.wasserstein), row->wasserstein);
  add_extent(r1, fmt::format("gap_js_scaled_{}", level), fmt::format("|scaled profile - JS|, P(Y|X) {}", level),
             gap(values.scaled, values.jensen_shannon), row->jensen_shannon);
  const auto add = [&](std::string_view name, std::string_view what, double value,
                       std::optional<double> published = {}) {
    r1.results.push_back({fmt::format("{}_{}", name, level), std::string(what), value, {}, published});
  };
  add("mean_profile", "profile distance itself, mean", extent_of(values.profile).mean);
  add("mean_profile_scaled", "scaled profile distance itself, mean", extent_of(values.scaled).mean);
  add("mean_w2", "W2 itself, mean", extent_of(values.wasserstein).mean);
  add("mean_js", "JS itself, mean", extent_of(values.jensen_shannon).mean);
  add("rank_w2", "rank correlation of profile distance and W2",
      rank_correlation(values.profile, values.wasserstein).value_or(0));
  add("rank_js", "rank correlation of profile distance and JS",
      rank_correlation(values.profile, values.jensen_shannon).value_or(0));
  add("gap_pairs", "client-round pairs behind these", static_cast<double>(values.profile.size()), 44850);
}

}  // namespace feroma::detail
