#include "feroma/mapping/divergence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Partial sums side by side; in this order on every machine.
constexpr std::size_t kLanes = 8;

double squared_distance(std::span<const float> a, std::span<const float> b) {
  std::array<float, kLanes> lanes{};
  const std::size_t whole = a.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float difference = a[i + lane] - b[i + lane];
      lanes[lane] += difference * difference;
    }
  }
  double sum = 0;
  for (std::size_t i = whole; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  for (const float lane : lanes) {
    sum += static_cast<double>(lane);
  }
  return sum;
}

double kernel(std::span<const float> a, std::span<const float> b, double bandwidth) {
  return portable_exp(-squared_distance(a, b) / (2 * bandwidth * bandwidth));
}

void require_rows(RowsView x, RowsView y, double bandwidth) {
  require(x.width == y.width && x.count() > 0 && y.count() > 0, ErrorCode::internal,
          "[mmd] both samples must have rows of one width, got {} of {} and {} of {}", x.count(), x.width, y.count(),
          y.width);
  require(bandwidth > 0, ErrorCode::internal, "[mmd] the bandwidth must be > 0, got {}", bandwidth);
}

/// All kernel values between the rows of both samples, symmetric.
std::vector<double> kernel_table(RowsView x, RowsView y, double bandwidth) {
  const std::size_t count = x.count() + y.count();
  const auto row = [&](std::size_t i) { return i < x.count() ? x.row(i) : y.row(i - x.count()); };
  std::vector<double> table(count * count, 1.0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      table[i * count + j] = table[j * count + i] = kernel(row(i), row(j), bandwidth);
    }
  }
  return table;
}

/// squared_mmd where the first `first` of `order` are one sample and the others the other.
double dealt_mmd(const std::vector<double>& table, std::span<const std::uint32_t> order, std::size_t first) {
  const std::size_t count = order.size();
  std::vector<double> weight(count);
  for (std::size_t i = 0; i < count; ++i) {
    weight[order[i]] = i < first ? 1.0 / static_cast<double>(first) : -1.0 / static_cast<double>(count - first);
  }
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < count; ++j) {
      row += table[i * count + j] * weight[j];
    }
    sum += weight[i] * row;
  }
  return std::max(sum, 0.0);
}

}  // namespace

double jensen_shannon(std::span<const double> p, std::span<const double> q) {
  require(p.size() == q.size(), ErrorCode::internal, "[divergence] histograms must have the same size, got {} and {}",
          p.size(), q.size());
  const double p_total = std::accumulate(p.begin(), p.end(), 0.0);
  const double q_total = std::accumulate(q.begin(), q.end(), 0.0);
  if (!(p_total > 0) || !(q_total > 0)) {
    return 0;
  }
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double a = p[i] / p_total;
    const double b = q[i] / q_total;
    const double middle = (a + b) / 2;
    sum += (a > 0 ? a * portable_log(a / middle) : 0) + (b > 0 ? b * portable_log(b / middle) : 0);
  }
  return std::max(sum / 2, 0.0);
}

double median_distance(RowsView rows) {
  std::vector<double> squared;
  for (std::size_t i = 0; i < rows.count(); ++i) {
    for (std::size_t j = i + 1; j < rows.count(); ++j) {
      squared.push_back(squared_distance(rows.row(i), rows.row(j)));
    }
  }
  if (squared.empty()) {
    return 1;
  }
  const auto middle = squared.begin() + static_cast<std::ptrdiff_t>(squared.size() / 2);
  std::nth_element(squared.begin(), middle, squared.end());
  return *middle > 0 ? std::sqrt(*middle) : 1;
}

double mean_kernel(RowsView x, RowsView y, double bandwidth) {
  require_rows(x, y, bandwidth);
  double sum = 0;
  for (std::size_t i = 0; i < x.count(); ++i) {
    for (std::size_t j = 0; j < y.count(); ++j) {
      sum += kernel(x.row(i), y.row(j), bandwidth);
    }
  }
  return sum / (static_cast<double>(x.count()) * static_cast<double>(y.count()));
}

double squared_mmd(RowsView x, RowsView y, double bandwidth) {
  const double apart = mean_kernel(x, y, bandwidth);
  return std::max(mean_kernel(x, x, bandwidth) + mean_kernel(y, y, bandwidth) - 2 * apart, 0.0);
}

double permuted_mmd(RowsView x, RowsView y, double bandwidth, int permutations, double quantile, Rng rng) {
  require_rows(x, y, bandwidth);
  require(permutations >= 1 && quantile >= 0 && quantile <= 1, ErrorCode::internal,
          "[mmd] a quantile in 0..1 of at least one permutation is needed, got {} of {}", quantile, permutations);
  const std::vector<double> table = kernel_table(x, y, bandwidth);
  std::vector<double> found;
  for (int i = 0; i < permutations; ++i) {
    found.push_back(dealt_mmd(table, rng.permutation(x.count() + y.count()), x.count()));
  }
  std::sort(found.begin(), found.end());
  // The smallest value that at least this share of the permutations does not exceed.
  const auto rank = static_cast<std::size_t>(std::ceil(quantile * static_cast<double>(permutations)));
  return found[std::max<std::size_t>(rank, 1) - 1];
}

}  // namespace feroma
