#include "bench/pairs.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/metrics/auc.h"
#include "feroma/metrics/rank_correlation.h"

namespace feroma::detail {
namespace {

double squared_between(const Profile& a, std::size_t u, const Profile& b, std::size_t v) {
  const double distance = wasserstein2(a.per_class[u], b.per_class[v]);
  return distance * distance;
}

}  // namespace

double class_wasserstein2(const Profile& a, const Profile& b) {
  const std::size_t classes = a.prior.size();
  std::vector<double> more_in_a(classes);
  std::vector<double> more_in_b(classes);
  double moving = 0;
  double squared = 0;
  for (std::size_t u = 0; u < classes; ++u) {
    const auto p = static_cast<double>(a.prior[u]);
    const auto q = static_cast<double>(b.prior[u]);
    const double kept = std::min(p, q);
    more_in_a[u] = p - kept;
    more_in_b[u] = q - kept;
    moving += more_in_a[u];
    squared += kept > 0 ? kept * squared_between(a, u, b, u) : 0;
  }
  for (std::size_t u = 0; u < classes && moving > 0; ++u) {
    for (std::size_t v = 0; v < classes; ++v) {
      const double mass = more_in_a[u] * more_in_b[v] / moving;
      squared += mass > 0 ? mass * squared_between(a, u, b, v) : 0;
    }
  }
  return std::sqrt(squared);
}

Moments with_one_hot(Moments pixels, std::span<const float> shares) {
  for (const float share : shares) {
    pixels.mean.push_back(share);
    pixels.std.push_back(std::sqrt(share * (1 - share)));
  }
  return pixels;
}

Extent extent_of(std::span<const double> values) {
  require(!values.empty(), ErrorCode::internal, "[bench] an extent needs at least one value");
  Extent extent{values.front(), values.front(), 0, 0};
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    extent.max = std::max(extent.max, value);
    extent.min = std::min(extent.min, value);
    extent.mean += value / count;
  }
  for (const double value : values) {
    extent.std += (value - extent.mean) * (value - extent.mean) / count;
  }
  extent.std = std::sqrt(extent.std);
  return extent;
}

PairScores score_pairs(const Matrix& distances, const Matrix& reference, std::span<const int> ids) {
  struct Sorted {
    std::vector<double> all, same, different;
  };
  Sorted found;
  Sorted wanted;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    for (std::size_t j = i + 1; j < ids.size(); ++j) {
      const auto add = [&, same = ids[i] == ids[j]](Sorted& to, double distance) {
        to.all.push_back(distance);
        (same ? to.same : to.different).push_back(distance);
      };
      add(found, distances.at(i, j));
      add(wanted, reference.at(i, j));
    }
  }
  return {found.all.size(), found.same.size(), area_under_curve(found.different, found.same),
          area_under_curve(wanted.different, wanted.same), rank_correlation(found.all, wanted.all)};
}

double nearest_is_own(const Matrix& distances, std::span<const std::size_t> rows) {
  double hits = 0;
  for (const std::size_t r : rows) {
    const auto row = distances.row(r);
    hits += row[r] <= *std::min_element(row.begin(), row.end()) ? 1 : 0;
  }
  return rows.empty() ? 0 : hits / static_cast<double>(rows.size());
}

}  // namespace feroma::detail
