#include "feroma/aggregation/fold.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "feroma/aggregation/mix.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::size_t kRange = 4096;  // parameters of one task
// Weights are rounded shares. A liar's value may be any number, so what is left of its weight by rounding must not
// count.
constexpr double kRounding = 1e-6;

/// What one source says of a parameter.
struct Vote {
  float value = 0;
  float weight = 0;
};

/// The value that half of the weight is not above; between two of them their mean, as one alone would lean to its side.
/// Votes are sorted.
float median_of(std::span<const Vote> votes, double total) {
  double below = 0;
  for (std::size_t i = 0; i + 1 < votes.size(); ++i) {
    below += static_cast<double>(votes[i].weight);
    if (below > total * (0.5 + kRounding)) {
      return votes[i].value;
    }
    if (below >= total * (0.5 - kRounding)) {
      return votes[i].value + 0.5F * (votes[i + 1].value - votes[i].value);
    }
  }
  return votes.back().value;
}

/// The mean of the weight between the shares `trim` and 1 - trim; votes are sorted.
float trimmed_mean(std::span<const Vote> votes, double total, double trim) {
  const double first = trim * total;
  const double last = (1 - trim) * total;
  double sum = 0;
  double weight = 0;
  double below = 0;
  for (const Vote& vote : votes) {
    const double above = below + static_cast<double>(vote.weight);
    const double kept = std::min(above, last) - std::max(below, first);
    if (kept > kRounding * total) {
      sum += kept * static_cast<double>(vote.value);
      weight += kept;
    }
    below = above;
  }
  return static_cast<float>(sum / weight);
}

void fold_range(const FoldRule& rule, std::span<const ParametersPtr> sources, std::span<const float> weights,
                std::size_t begin, std::size_t end, Parameters& output) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Vote> votes;
  for (std::size_t i = begin; i < end; ++i) {
    votes.clear();
    for (std::size_t s = 0; s < sources.size(); ++s) {
      if (weights[s] > 0) {
        votes.push_back({sources[s]->values()[i], weights[s]});
      }
    }
    // Equal values may stand in any order: the result is the same.
    std::sort(votes.begin(), votes.end(), [](const Vote& a, const Vote& b) { return a.value < b.value; });
    output.values()[i] = rule.fold == Fold::median ? median_of(votes, total) : trimmed_mean(votes, total, rule.trim);
  }
}

double squared_distance(const Parameters& a, const Parameters& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = static_cast<double>(a.values()[i]) - static_cast<double>(b.values()[i]);
    sum += off * off;
  }
  return sum;
}

/// Squared distances of every source to every other, row-major.
std::vector<double> all_distances(std::span<const ParametersPtr> sources, const Parallel& parallel) {
  const std::size_t count = sources.size();
  std::vector<double> distances(count * count);
  parallel(count, [&](std::size_t a) {
    for (std::size_t b = 0; b < count; ++b) {
      distances[a * count + b] = a == b ? 0.0 : squared_distance(*sources[a], *sources[b]);
    }
  });
  return distances;
}

/// How far the nearest `1 - trim` of the weight is from one source, in all.
double krum_score(std::span<const double> distances, std::span<const float> weights, double trim) {
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return distances[a] < distances[b]; });
  double left = (1 - trim) * std::accumulate(weights.begin(), weights.end(), 0.0);
  double score = 0;
  for (const std::size_t s : order) {
    const double taken = std::min(left, static_cast<double>(weights[s]));
    score += taken * distances[s];
    left -= taken;
  }
  return score;
}

std::vector<Parameters> krum(const FoldRule& rule, std::span<const ParametersPtr> sources,
                             std::span<const float> weights, const Parallel& parallel) {
  const std::size_t count = sources.size();
  const std::vector<double> distances = all_distances(sources, parallel);
  std::vector<Parameters> outputs;
  for (std::size_t begin = 0; begin < weights.size(); begin += count) {
    const auto row = weights.subspan(begin, count);
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t s = 0; s < count; ++s) {
      const double score = krum_score(std::span(distances).subspan(s * count, count), row, rule.trim);
      if (row[s] > 0 && score < least) {
        least = score;
        best = s;
      }
    }
    outputs.push_back(sources[best]->clone());
  }
  return outputs;
}

}  // namespace

std::vector<Parameters> fold_models(const FoldRule& rule, std::span<const ParametersPtr> sources,
                                    std::span<const float> weights, const Parallel& parallel) {
  require(!sources.empty() && weights.size() % sources.size() == 0, ErrorCode::internal,
          "[aggregation] {} weights cannot be rows over {} models", weights.size(), sources.size());
  require(rule.trim >= 0 && rule.trim < 0.5, ErrorCode::invalid_config,
          "[aggregation] the weight that may be bad must be in 0..0.5, got {}", rule.trim);
  for (const ParametersPtr& source : sources) {
    require(source->size() == sources.front()->size(), ErrorCode::internal,
            "[aggregation] models of {} and {} values cannot be folded", sources.front()->size(), source->size());
  }
  if (rule.fold == Fold::mean) {
    return mix(sources, weights, parallel);
  }
  if (rule.fold == Fold::krum) {
    return krum(rule, sources, weights, parallel);
  }
  const std::size_t rows = weights.size() / sources.size();
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = weights.subspan(r * sources.size(), sources.size());
    require(std::any_of(row.begin(), row.end(), [](float weight) { return weight > 0; }), ErrorCode::internal,
            "[aggregation] row {} has no weight on any model", r);
  }
  const std::size_t size = sources.front()->size();
  std::vector<Parameters> outputs;
  for (std::size_t r = 0; r < rows; ++r) {
    outputs.emplace_back(sources.front()->shared_layout());
  }
  parallel((size + kRange - 1) / kRange, [&](std::size_t task) {
    for (std::size_t r = 0; r < rows; ++r) {
      fold_range(rule, sources, weights.subspan(r * sources.size(), sources.size()), task * kRange,
                 std::min(size, (task + 1) * kRange), outputs[r]);
    }
  });
  return outputs;
}

}  // namespace feroma
