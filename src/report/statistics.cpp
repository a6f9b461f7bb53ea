#include "feroma/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "feroma/core/error.h"
#include "report/tail_laws.h"

namespace feroma {
namespace {

/// Up to here every sign pattern is counted: 2^25 patterns, by sums rather than one by one.
constexpr std::size_t kExactPairs = 25;

std::vector<double> differences(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), ErrorCode::internal, "[statistics] pairs of {} and {} values", a.size(), b.size());
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    result[i] = a[i] - b[i];
  }
  return result;
}

/// How far values or differences that are equal may lie apart, because the values behind them were rounded.
double rounding_of(std::span<const double> a, std::span<const double> b) {
  constexpr double kSteps = 16;
  double largest = 0;
  for (const std::span<const double> values : {a, b}) {
    for (const double value : values) {
      largest = std::max(largest, std::abs(value));
    }
  }
  return kSteps * std::numeric_limits<double>::epsilon() * largest;
}

/// Ranks from 1, the largest value first; values no further than `rounding` from the largest of them share the mean of
/// their ranks.
std::vector<double> ranks_of(std::span<const double> values, double rounding) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] > values[j]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[begin]] - values[order[end]] <= rounding) {
      ++end;
    }
    const double rank = static_cast<double>(begin + 1 + end) / 2;
    for (; begin < end; ++begin) {
      ranks[order[begin]] = rank;
    }
  }
  return ranks;
}

/// How many share each rank: for corrections.
std::vector<std::size_t> tie_sizes(std::vector<double> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i > 0 && ranks[i] == ranks[i - 1]) {
      sizes.back() += 1;
    } else {
      sizes.push_back(1);
    }
  }
  return sizes;
}

/// The share of all sign patterns whose positive rank sum is at most `w`. Ranks may end in .5, so they are doubled.
double exact_lower_tail(const std::vector<double>& ranks, double w) {
  std::vector<std::size_t> doubled;
  for (const double rank : ranks) {
    doubled.push_back(static_cast<std::size_t>(std::llround(2 * rank)));
  }
  std::vector<double> patterns(std::accumulate(doubled.begin(), doubled.end(), std::size_t{0}) + 1);
  patterns[0] = 1;
  for (const std::size_t rank : doubled) {
    for (std::size_t sum = patterns.size() - 1; sum >= rank; --sum) {
      patterns[sum] += patterns[sum - rank];
    }
  }
  const auto last = static_cast<std::size_t>(std::llround(2 * w));
  return std::accumulate(patterns.begin(), patterns.begin() + static_cast<std::ptrdiff_t>(last) + 1, 0.0) /
         std::exp2(static_cast<double>(ranks.size()));
}

double normal_two_sided(const std::vector<double>& ranks, double w) {
  const auto n = static_cast<double>(ranks.size());
  double variance = n * (n + 1) * (2 * n + 1) / 24;
  for (const std::size_t ties : tie_sizes(ranks)) {
    const auto t = static_cast<double>(ties);
    variance -= (t * t * t - t) / 48;
  }
  const double distance = std::max(0.0, n * (n + 1) / 4 - w - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace

std::optional<MeanDeviation> mean_and_deviation(std::span<const double> values) {
  if (values.empty()) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(values.size());
  MeanDeviation spread{std::accumulate(values.begin(), values.end(), 0.0) / n, std::nullopt, values.size()};
  if (values.size() > 1) {
    double squares = 0;
    for (const double value : values) {
      squares += (value - spread.mean) * (value - spread.mean);
    }
    spread.deviation = std::sqrt(squares / (n - 1));
  }
  return spread;
}

bool same_but_for_rounding(double a, double b) {
  return std::abs(a - b) <= rounding_of(std::span(&a, 1), std::span(&b, 1));
}

std::vector<double> ranks_from_best(std::span<const double> values) {
  return ranks_of(values, rounding_of(values, {}));
}

std::optional<PairedTest> wilcoxon_signed_rank(std::span<const double> a, std::span<const double> b) {
  std::vector<double> sizes;  // negative, so that the smallest difference has rank 1
  std::vector<bool> positive;
  const double rounding = rounding_of(a, b);
  for (const double difference : differences(a, b)) {
    if (std::abs(difference) > rounding) {
      sizes.push_back(-std::abs(difference));
      positive.push_back(difference > 0);
    }
  }
  if (sizes.empty()) {
    return std::nullopt;
  }
  const std::vector<double> ranks = ranks_of(sizes, rounding);
  double above = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    above += positive[i] ? ranks[i] : 0;
  }
  const double all = static_cast<double>(ranks.size() * (ranks.size() + 1)) / 2;
  PairedTest test{ranks.size(), std::min(above, all - above), 1, ranks.size() <= kExactPairs};
  test.p =
      std::min(1.0, test.exact ? 2 * exact_lower_tail(ranks, test.statistic) : normal_two_sided(ranks, test.statistic));
  return test;
}

std::optional<PairedTest> paired_t(std::span<const double> a, std::span<const double> b) {
  const std::vector<double> apart = differences(a, b);
  const std::optional<MeanDeviation> spread = mean_and_deviation(apart);
  if (!spread || !spread->deviation || *spread->deviation <= rounding_of(a, b)) {
    return std::nullopt;
  }
  const auto n = static_cast<double>(apart.size());
  const double t = spread->mean / (*spread->deviation / std::sqrt(n));
  return PairedTest{apart.size(), t, student_t_two_sided(t, n - 1), true};
}

std::vector<double> holm(std::span<const double> p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p[i] < p[j]; });
  std::vector<double> adjusted(p.size());
  double running = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    running = std::max(running, std::min(1.0, p[order[i]] * static_cast<double>(order.size() - i)));
    adjusted[order[i]] = running;
  }
  return adjusted;
}

std::optional<FriedmanTest> friedman(const std::vector<std::vector<double>>& values) {
  if (values.size() < 2 || values.front().size() < 2) {
    return std::nullopt;
  }
  FriedmanTest test{values.size(), values.front().size(), std::vector<double>(values.front().size()), 0, 1};
  const auto n = static_cast<double>(test.blocks);
  const auto k = static_cast<double>(test.methods);
  double ties = 0;
  for (const std::vector<double>& block : values) {
    require(block.size() == test.methods, ErrorCode::internal, "[statistics] a block has {} of {} methods",
            block.size(), test.methods);
    const std::vector<double> ranks = ranks_from_best(block);
    for (std::size_t j = 0; j < ranks.size(); ++j) {
      test.mean_ranks[j] += ranks[j];  // halves add without rounding, so that equal sums stay equal
    }
    for (const std::size_t size : tie_sizes(ranks)) {
      const auto t = static_cast<double>(size);
      ties += t * t * t - t;
    }
  }
  double squares = 0;
  for (double& rank : test.mean_ranks) {
    rank /= n;
    squares += (rank - (k + 1) / 2) * (rank - (k + 1) / 2);
  }
  const double untied = 1 - ties / (n * (k * k * k - k));
  test.chi_square = untied > 0 ? 12 * n / (k * (k + 1)) * squares / untied : 0;
  test.p = chi_square_tail(test.chi_square, k - 1);
  return test;
}

double critical_difference(std::size_t methods, std::size_t blocks, double alpha) {
  require(methods >= 2 && blocks >= 1 && alpha > 0 && alpha < 1, ErrorCode::internal,
          "[statistics] no critical difference of {} methods over {} blocks at {}", methods, blocks, alpha);
  const auto k = static_cast<double>(methods);
  return detail::studentized_range_quantile(methods, 1 - alpha) / std::sqrt(2.0) *
         std::sqrt(k * (k + 1) / (6 * static_cast<double>(blocks)));
}

}  // namespace feroma
