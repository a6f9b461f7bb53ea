#include "src/bench/covariance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "feroma/core/rng.h"
#include "tests/expect_error.h"

namespace feroma::detail {
namespace {

TEST(Covariance, OfTwoCoordinates) {
  const Matrix covariance = covariance_of({{0, 0}, {2, 4}});
  EXPECT_EQ(covariance.values, (std::vector<double>{1, 2, 2, 4}));
  expect_error(ErrorCode::internal, "needs rows", [] { return covariance_of({}).rows; });
}

// Eigenvalues 3 and 1, along (1, 1) and (1, -1).
TEST(WidestDirection, IsTheLargestEigenvector) {
  Matrix covariance(2, 2);
  covariance.values = {2, 1, 1, 2};
  const std::vector<double> direction = widest_direction(covariance);
  EXPECT_NEAR(direction[0], std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(direction[1], std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(variance_along(covariance, direction), 3, 1e-12);
}

TEST(WidestDirection, OfNothingIsStillADirection) {
  const Matrix none(2, 2);
  EXPECT_EQ(variance_along(none, widest_direction(none)), 0);
}

// First order: the variance of mean and spread over many samples of 200 is that of the influences over 200.
TEST(Influences, PredictHowMomentsVary) {
  constexpr std::uint32_t count = 200;
  std::vector<std::uint32_t> which(count);
  std::iota(which.begin(), which.end(), 0U);
  Matrix predicted;
  std::vector<std::vector<double>> drawn;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    Rng rng = Rng(1).derive("sample", i);
    Rows rows{1, {}};
    for (std::uint32_t k = 0; k < count; ++k) {
      rows.values.push_back(static_cast<float>(rng.uniform() * rng.uniform()));  // skewed
    }
    const Moments moments = moments_of(rows, which);
    drawn.push_back({static_cast<double>(moments.mean[0]), static_cast<double>(moments.std[0])});
    const Matrix one = covariance_of(influences(rows, which));
    predicted = predicted.empty() ? Matrix(2, 2) : predicted;
    for (std::size_t c = 0; c < 4; ++c) {
      predicted.values[c] += one.values[c] / (count * 3000.0);
    }
  }
  const Matrix seen = covariance_of(drawn);
  for (std::size_t c = 0; c < 4; ++c) {
    EXPECT_NEAR(seen.values[c] / predicted.values[c], 1, 0.15) << c;
  }
}

}  // namespace
}  // namespace feroma::detail
