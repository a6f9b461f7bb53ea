#include "bench/covariance.h"

#include <cmath>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

constexpr int kPowerSteps = 300;

std::vector<double> times(const Matrix& matrix, std::span<const double> vector) {
  std::vector<double> product(matrix.rows);
  for (std::size_t r = 0; r < matrix.rows; ++r) {
    const auto row = matrix.row(r);
    product[r] = std::inner_product(row.begin(), row.end(), vector.begin(), 0.0);
  }
  return product;
}

}  // namespace

Matrix covariance_of(const std::vector<std::vector<double>>& rows) {
  require(!rows.empty(), ErrorCode::internal, "[bench] a covariance needs rows");
  const std::size_t width = rows.front().size();
  const auto count = static_cast<double>(rows.size());
  std::vector<double> mean(width);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < width; ++c) {
      mean[c] += row[c] / count;
    }
  }
  Matrix covariance(width, width);
  std::vector<double> centred(width);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < width; ++c) {
      centred[c] = row[c] - mean[c];
    }
    for (std::size_t a = 0; a < width; ++a) {
      for (std::size_t b = 0; b < width; ++b) {
        covariance.at(a, b) += centred[a] * centred[b] / count;
      }
    }
  }
  return covariance;
}

std::vector<double> widest_direction(const Matrix& covariance) {
  // Power iteration from the widest coordinate, with a little of every other: no start is orthogonal to the answer.
  std::vector<double> direction(covariance.rows, 1e-3);
  std::size_t widest = 0;
  for (std::size_t c = 0; c < covariance.rows; ++c) {
    widest = covariance.at(c, c) > covariance.at(widest, widest) ? c : widest;
  }
  direction[widest] = 1;
  for (int step = 0; step < kPowerSteps; ++step) {
    std::vector<double> next = times(covariance, direction);
    const double length = std::sqrt(std::inner_product(next.begin(), next.end(), next.begin(), 0.0));
    if (!(length > 0)) {
      break;
    }
    for (double& value : next) {
      value /= length;
    }
    direction = std::move(next);
  }
  return direction;
}

double variance_along(const Matrix& covariance, std::span<const double> direction) {
  const std::vector<double> product = times(covariance, direction);
  return std::inner_product(product.begin(), product.end(), direction.begin(), 0.0);
}

std::vector<std::vector<double>> influences(const Rows& rows, std::span<const std::uint32_t> which) {
  const Moments moments = moments_of(rows, which);
  const std::size_t width = moments.mean.size();
  std::vector<std::vector<double>> result;
  for (const std::uint32_t i : which) {
    std::vector<double> influence(2 * width);
    for (std::size_t c = 0; c < width; ++c) {
      const double off = static_cast<double>(rows.row(i)[c]) - static_cast<double>(moments.mean[c]);
      const auto spread = static_cast<double>(moments.std[c]);
      influence[c] = off;
      influence[width + c] = spread > 0 ? (off * off - spread * spread) / (2 * spread) : 0;
    }
    result.push_back(std::move(influence));
  }
  return result;
}

}  // namespace feroma::detail
