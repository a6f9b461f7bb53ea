#include "algorithms/parents.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "feroma/core/error.h"
#include "feroma/core/median.h"
#include "feroma/mapping/limit.h"
#include "feroma/mapping/neighbours.h"

namespace feroma {
namespace {

constexpr double kPersonalBelow = 1.5;
constexpr double kGlobalShare = 0.8;
// The paper's global aggregation has weights of about 1 / parents.
constexpr double kAlike = 0.01;
// Of the weight that a fold bears on liars, one client may have so much: the rest is for liars that are further away.
constexpr double kOneLiar = 0.8;

WeightRule weight_rule(const FeromaOptions& options, std::size_t parents) {
  const double unit = options.threshold_unit == ThresholdUnit::mean ? 1 / static_cast<double>(parents) : 1;
  return {options.kernel, options.temperature, options.width, options.threshold * unit};
}

std::vector<std::int64_t> column_counts(const FeromaOptions& options, std::span<const Receiver> receivers,
                                        std::span<const Parent> parents) {
  std::map<ClientId, std::int64_t> current;
  for (const Receiver& receiver : receivers) {
    current[receiver.client] = receiver.profile.num_samples;
  }
  std::vector<std::int64_t> counts;
  for (const Parent& parent : parents) {
    switch (options.counts) {
      case Counts::none: counts.push_back(1); break;
      case Counts::trained: counts.push_back(parent.num_examples); break;
      case Counts::profiled: {
        const auto found = current.find(parent.client);
        counts.push_back(found == current.end() ? parent.profile.num_samples : found->second);
        break;
      }
    }
  }
  return believed_counts(options, std::move(counts));
}

/// The reference implementation zips weights and models of two unordered lists; a random relabelling of columns.
Matrix shuffle_columns(const Matrix& weights, Rng rng) {
  const auto order = rng.permutation(weights.cols);
  Matrix shuffled(weights.rows, weights.cols);
  for (std::size_t r = 0; r < weights.rows; ++r) {
    for (std::size_t c = 0; c < weights.cols; ++c) {
      shuffled.at(r, order[c]) = weights.at(r, c);
    }
  }
  return shuffled;
}

/// Where each receiver's own model of the last round is; the number of parents if it has none.
std::vector<std::size_t> own_columns(std::span<const Receiver> receivers, std::span<const Parent> parents) {
  std::vector<std::size_t> columns;
  for (const Receiver& receiver : receivers) {
    const auto own = std::find_if(parents.begin(), parents.end(),
                                  [&](const Parent& parent) { return parent.client == receiver.client; });
    columns.push_back(static_cast<std::size_t>(own - parents.begin()));
  }
  return columns;
}

/// How far a client whose distribution is known can be from others of it; no limit where it is not known, or where the
/// metric knows no noise.
double partner_distance(const Distances& distances) {
  const auto row = distances.squared.row(0);
  const auto nearest = static_cast<std::size_t>(std::min_element(row.begin(), row.end()) - row.begin());
  const double reach = kPartnerRatio * kPartnerRatio * distances.floor.at(0, nearest);
  return reach > 0 && row[nearest] <= reach ? std::sqrt(reach) : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<Profile> profiles_of(std::span<const Parent> parents) {
  std::vector<Profile> profiles;
  for (const Parent& parent : parents) {
    profiles.push_back(parent.profile);
  }
  return profiles;
}

Round newest_round(std::span<const Parent> parents) {
  Round newest = 0;
  for (const Parent& parent : parents) {
    newest = std::max(newest, parent.round);
  }
  return newest;
}

std::vector<std::int64_t> believed_counts(const FeromaOptions& options, std::vector<std::int64_t> counts) {
  if (options.fold != Fold::mean && !counts.empty()) {
    const auto most = static_cast<std::int64_t>(median({counts.begin(), counts.end()}));
    for (std::int64_t& count : counts) {
      count = std::min(count, most);
    }
  }
  return counts;
}

Matrix mixing_matrix(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                     std::span<const Receiver> receivers, std::span<const Parent> parents, Rng rng,
                     const Parallel& parallel) {
  const std::vector<Profile> old = profiles_of(parents);
  std::vector<Profile> queries;
  for (const Receiver& receiver : receivers) {
    queries.push_back(receiver.profile);
  }
  std::vector<Profile> pool = old;
  pool.insert(pool.end(), queries.begin(), queries.end());
  const Gauge gauge = fit_gauge(options.metric, shape, /*label_free=*/false, scaler, pool);
  const Distances distances = compare(gauge, queries, old, parallel);
  const WeightRule rule = weight_rule(options, parents.size());
  const double width = width_to_neighbours(rule, distances, queries, old, own_columns(receivers, parents))
                           .value_or(kernel_width(rule, distances));
  Matrix weights = weights_of(rule, distances, width);
  if (options.join == Join::positional) {
    weights = shuffle_columns(weights, std::move(rng));
  }
  if (options.counts != Counts::none) {
    weights = weigh_by_counts(std::move(weights), column_counts(options, receivers, parents));
  }
  if (options.fold != Fold::mean) {
    weights = limit_shares(std::move(weights), own_columns(receivers, parents), kOneLiar * options.fold_trim);
  }
  return options.normalisation == Normalisation::sinkhorn ? sinkhorn(std::move(weights)) : weights;
}

Matrix with_global_share(const FeromaOptions& options, Matrix weights, std::span<const Receiver> receivers,
                         std::span<const Parent> parents) {
  if (options.global_share == 0 || weights.empty() || !class_shares_alike(profiles_of(parents))) {
    return weights;
  }
  const Round newest = newest_round(parents);
  Matrix mean(1, parents.size());
  for (std::size_t c = 0; c < parents.size(); ++c) {
    mean.at(0, c) = parents[c].round == newest ? 1 : 0;
  }
  mean = weigh_by_counts(std::move(mean), column_counts(options, receivers, parents));
  for (std::size_t r = 0; r < weights.rows; ++r) {
    for (std::size_t c = 0; c < weights.cols; ++c) {
      weights.at(r, c) = (1 - options.global_share) * weights.at(r, c) + options.global_share * mean.at(0, c);
    }
  }
  return weights;
}

std::vector<double> assignment_weights(const FeromaOptions& options, AssignRule rule, const ProfileShape& shape,
                                       const BlockScaler& scaler, const Profile& query, std::span<const Parent> parents,
                                       bool label_free) {
  const std::vector<Profile> old = profiles_of(parents);
  const Gauge gauge = fit_gauge(options.assign_metric, shape, label_free, scaler, old);
  const Distances distances = compare(gauge, std::span(&query, 1), old);
  switch (rule) {
    case AssignRule::nearest: {
      const auto row = distances.squared.row(0);
      std::vector<double> weights(old.size());
      weights[static_cast<std::size_t>(std::min_element(row.begin(), row.end()) - row.begin())] = 1;
      return weights;
    }
    case AssignRule::kernel: {
      const WeightRule kernel{Kernel::gaussian, 1, options.assign_width, 0};
      const double width = std::min(kernel_width_among(kernel, gauge, old), kernel.width * partner_distance(distances));
      Matrix weights = weights_of(kernel, distances, width);
      if (options.fold != Fold::mean) {
        weights = limit_shares(std::move(weights), std::vector<std::size_t>{old.size()}, kOneLiar * options.fold_trim);
      }
      return {weights.values.begin(), weights.values.end()};
    }
  }
  unreachable();
}

Strategy strategy_of(StrategyRule rule, std::span<const double> weights) {
  switch (rule) {
    case StrategyRule::effective: {
      const double parents = effective_parents(weights);
      if (parents < kPersonalBelow) {
        return Strategy::personal;
      }
      return parents > kGlobalShare * static_cast<double>(weights.size()) ? Strategy::global : Strategy::clustered;
    }
    case StrategyRule::support: {
      if (std::count_if(weights.begin(), weights.end(), [](double weight) { return weight > 0; }) == 1) {
        return Strategy::personal;
      }
      const auto [least, most] = std::minmax_element(weights.begin(), weights.end());
      return *most - *least <= kAlike * *most ? Strategy::global : Strategy::clustered;
    }
  }
  unreachable();
}

RoundTrace trace_of(StrategyRule rule, std::span<const Receiver> receivers, std::span<const Parent> parents,
                    const ProfileShape& shape, const Matrix& by_profile, Matrix mixing) {
  RoundTrace trace;
  trace.profiles = Matrix(receivers.size(), shape.size());
  for (std::size_t r = 0; r < receivers.size(); ++r) {
    trace.receivers.push_back(receivers[r].client);
    const std::vector<float> values = encode(receivers[r].profile, shape);
    std::copy(values.begin(), values.end(), trace.profiles.row(r).begin());
    trace.strategies.push_back(by_profile.empty() ? Strategy::global : strategy_of(rule, by_profile.row(r)));
  }
  for (const Parent& parent : parents) {
    trace.sources.push_back(parent.client);
    trace.source_rounds.push_back(parent.round);
  }
  if (!mixing.empty()) {
    trace.contraction = contraction(mixing);
    const ColumnSums sums = column_sums(mixing);
    trace.column_sum_min = sums.min;
    trace.column_sum_max = sums.max;
  }
  trace.mixing = std::move(mixing);
  return trace;
}

std::vector<std::optional<double>> profile_moves(const ProfileShape& shape, std::span<const Receiver> receivers,
                                                 std::span<const Parent> parents) {
  std::vector<std::optional<double>> moves(receivers.size());
  if (parents.empty()) {
    return moves;
  }
  const auto signature = [&shape](const auto& held) { return signature_of(held.profile, shape, /*label_free=*/false); };
  std::vector<Signature> signatures;
  for (const Parent& parent : parents) {
    signatures.push_back(signature(parent));
  }
  for (const Receiver& receiver : receivers) {
    signatures.push_back(signature(receiver));
  }
  const Reliability reliability = fit_reliability(signatures);
  const std::vector<std::size_t> own = own_columns(receivers, parents);
  for (std::size_t r = 0; r < receivers.size(); ++r) {
    if (own[r] == parents.size()) {
      continue;
    }
    const auto distance = reliable_distance(reliability, signatures[parents.size() + r], signatures[own[r]]);
    if (receivers[r].profile == parents[own[r]].profile) {
      moves[r] = 0;
    } else if (distance.floor > 0) {
      moves[r] = std::sqrt(distance.squared / distance.floor);
    }
  }
  return moves;
}

}  // namespace feroma
