#include "feroma/metrics/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The rank of every value less the mean rank.
std::vector<double> centred_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  const double middle = (static_cast<double>(values.size()) - 1) / 2;
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) {
      end += 1;
    }
    const double rank = static_cast<double>(begin + end - 1) / 2 - middle;
    for (; begin < end; ++begin) {
      ranks[order[begin]] = rank;
    }
  }
  return ranks;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  require(a.size() == b.size(), ErrorCode::internal, "[metrics] ranks of {} and {} values cannot be compared", a.size(),
          b.size());
  const std::vector<double> x = centred_ranks(a);
  const std::vector<double> y = centred_ranks(b);
  const double xy = std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
  const double xx = std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  const double yy = std::inner_product(y.begin(), y.end(), y.begin(), 0.0);
  return xx > 0 && yy > 0 ? std::optional(xy / std::sqrt(xx * yy)) : std::nullopt;
}

}  // namespace feroma
