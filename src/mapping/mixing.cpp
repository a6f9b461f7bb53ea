#include "feroma/mapping/mixing.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {
namespace {

std::vector<double> sums_of_columns(const Matrix& matrix) {
  std::vector<double> sums(matrix.cols);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    for (std::size_t c = 0; c < matrix.cols; ++c) {
      sums[c] += matrix.at(r, c);
    }
  }
  return sums;
}

void normalise_rows_(Matrix& matrix) {
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    const auto row = matrix.row(r);
    const double total = std::accumulate(row.begin(), row.end(), 0.0);
    require(total > 0, ErrorCode::internal, "[mapping] row {} of the mixing matrix has no weight", r);
    for (double& weight : row) {
      weight /= total;
    }
  }
}

void remove_mean_(std::vector<double>& x) {
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
  for (double& value : x) {
    value -= mean;
  }
}

double norm(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) {
    sum += value * value;
  }
  return std::sqrt(sum);
}

}  // namespace

Matrix weigh_by_counts(Matrix weights, std::span<const std::int64_t> counts) {
  require(counts.size() == weights.cols, ErrorCode::internal, "[mapping] {} counts for {} parents", counts.size(),
          weights.cols);
  for (std::size_t r = 0; r < weights.rows; ++r) {
    for (std::size_t c = 0; c < weights.cols; ++c) {
      weights.at(r, c) *= static_cast<double>(counts[c]);
    }
  }
  normalise_rows_(weights);
  return weights;
}

Matrix sinkhorn(Matrix weights, int iterations) {
  const double target = static_cast<double>(weights.rows) / static_cast<double>(weights.cols);
  for (int i = 0; i < iterations; ++i) {
    const std::vector<double> sums = sums_of_columns(weights);
    double worst = 0;
    for (std::size_t c = 0; c < weights.cols; ++c) {
      worst = std::max(worst, std::abs(sums[c] - target));
      // A source nobody may use keeps its zeros.
      const double factor = sums[c] > 0 ? target / sums[c] : 1.0;
      for (std::size_t r = 0; r < weights.rows; ++r) {
        weights.at(r, c) *= factor;
      }
    }
    normalise_rows_(weights);
    if (worst < 1e-9) {
      break;
    }
  }
  return weights;
}

double effective_parents(std::span<const double> weights) {
  double squares = 0;
  for (const double weight : weights) {
    squares += weight * weight;
  }
  return squares > 0 ? 1.0 / squares : 0.0;
}

/// Where the power iteration may stop: the figure is printed, nothing is computed from it.
constexpr double kContractionPrecision = 1e-9;

double contraction(const Matrix& mixing) {
  if (mixing.rows < 2 || mixing.cols < 2) {
    return 0;
  }
  // Receivers are summed side by side, each still in the order of the sources.
  Matrix by_source(mixing.cols, mixing.rows);
  for (std::size_t r = 0; r < mixing.rows; ++r) {
    for (std::size_t c = 0; c < mixing.cols; ++c) {
      by_source.at(c, r) = mixing.at(r, c);
    }
  }
  // Power iteration on P W^T P W P with P the projection that removes the mean; a fixed start keeps it deterministic.
  std::vector<double> x(mixing.cols);
  for (std::size_t c = 0; c < mixing.cols; ++c) {
    x[c] = std::sin(1.0 + 2.0 * static_cast<double>(c));
  }
  double value = 0;
  for (int i = 0; i < 100; ++i) {
    remove_mean_(x);
    const double length = norm(x);
    if (length < 1e-300) {
      return 0;
    }
    std::vector<double> y(mixing.rows);
    for (std::size_t c = 0; c < mixing.cols; ++c) {
      const auto taken = by_source.row(c);
      const double source = x[c];
      for (std::size_t r = 0; r < mixing.rows; ++r) {
        y[r] += taken[r] * source / length;
      }
    }
    remove_mean_(y);  // what all receivers have in common is no disagreement
    std::vector<double> back(mixing.cols);
    for (std::size_t r = 0; r < mixing.rows; ++r) {
      for (std::size_t c = 0; c < mixing.cols; ++c) {
        back[c] += mixing.at(r, c) * y[r];
      }
    }
    const double before = value;
    value = norm(y);
    if (std::abs(value - before) <= kContractionPrecision * value) {
      break;
    }
    x = std::move(back);
  }
  return value;
}

ColumnSums column_sums(const Matrix& mixing) {
  const std::vector<double> sums = sums_of_columns(mixing);
  if (sums.empty()) {
    return {};
  }
  const auto [low, high] = std::minmax_element(sums.begin(), sums.end());
  return {*low, *high};
}

}  // namespace feroma
