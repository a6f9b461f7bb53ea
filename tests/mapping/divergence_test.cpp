#include "feroma/mapping/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/expect_error.h"

namespace feroma {
namespace {

std::vector<float> normal_rows(std::size_t rows, std::size_t width, double mean, Rng rng) {
  std::vector<float> values(rows * width);
  for (float& value : values) {
    value = static_cast<float>(mean + rng.normal());
  }
  return values;
}

TEST(JensenShannon, OfOppositesIsLnTwo) {
  EXPECT_NEAR(jensen_shannon(std::vector<double>{1, 0}, std::vector<double>{0, 5}), std::log(2.0), 1e-12);
}

TEST(JensenShannon, LooksAtSharesOnly) {
  EXPECT_NEAR(jensen_shannon(std::vector<double>{1, 2, 3}, std::vector<double>{10, 20, 30}), 0, 1e-15);
}

// p = (1/2, 1/2), q = (1, 0), middle (3/4, 1/4): (ln(2/3) / 2 + ln 2 / 2 + ln(4/3)) / 2 = 0.2158.
TEST(JensenShannon, HasTheKnownValueAndIsSymmetric) {
  const std::vector<double> p{1, 1};
  const std::vector<double> q{4, 0};
  const double expected = (std::log(2.0 / 3) / 2 + std::log(2.0) / 2 + std::log(4.0 / 3)) / 2;
  EXPECT_NEAR(jensen_shannon(p, q), expected, 1e-12);
  EXPECT_EQ(jensen_shannon(p, q), jensen_shannon(q, p));
}

TEST(JensenShannon, OfNothingIsZero) {
  EXPECT_EQ(jensen_shannon(std::vector<double>{0, 0}, std::vector<double>{1, 0}), 0);
  expect_error(ErrorCode::internal, "same size", [] {
    return jensen_shannon(std::vector<double>{1}, std::vector<double>{1, 0});
  });
}

TEST(SquaredMmd, OfASampleAndItselfIsZero) {
  const std::vector<float> x = normal_rows(40, 11, 0, Rng(1));
  EXPECT_EQ(squared_mmd({x, 11}, {x, 11}, 2), 0);
}

// One row each, at distance 2 with bandwidth 1: 1 + 1 - 2 exp(-2).
TEST(SquaredMmd, OfTwoPointsIsKnown) {
  const std::vector<float> x{0, 0};
  const std::vector<float> y{0, 2};
  EXPECT_NEAR(squared_mmd({x, 2}, {y, 2}, 1), 2 - 2 * std::exp(-2.0), 1e-12);
}

// For normal samples with means 0 and m in d dimensions, kernel of width s, in the limit of many samples:
// 2 a (1 - exp(-m^2 d / (2 (s^2 + 2)))) with a = (s^2 / (s^2 + 2))^(d/2).
TEST(SquaredMmd, OfNormalSamplesComesNearTheClosedForm) {
  const std::vector<float> x = normal_rows(1500, 3, 0, Rng(1));
  const std::vector<float> y = normal_rows(1500, 3, 1, Rng(2));
  const double a = std::pow(4.0 / 6.0, 1.5);
  EXPECT_NEAR(squared_mmd({x, 3}, {y, 3}, 2), 2 * a * (1 - std::exp(-3.0 / 12.0)), 0.02);
}

TEST(SquaredMmd, NeedsRowsOfOneWidth) {
  const std::vector<float> x{1, 2};
  expect_error(ErrorCode::internal, "one width", [&] { return squared_mmd({x, 2}, {x, 1}, 1); });
  expect_error(ErrorCode::internal, "one width", [&] { return squared_mmd({x, 2}, {{}, 2}, 1); });
  expect_error(ErrorCode::internal, "bandwidth", [&] { return squared_mmd({x, 2}, {x, 2}, 0); });
}

TEST(PermutedMmd, IsExceededByAShiftAndSeldomByNoise) {
  int false_alarms = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<float> x = normal_rows(40, 4, 0, Rng(seed).derive("x"));
    const std::vector<float> y = normal_rows(30, 4, 0, Rng(seed).derive("y"));
    const std::vector<float> z = normal_rows(30, 4, 1.5, Rng(seed).derive("z"));
    const auto threshold = [&](const std::vector<float>& other) {
      return permuted_mmd({x, 4}, {other, 4}, 3, 100, 0.95, Rng(seed));
    };
    false_alarms += squared_mmd({x, 4}, {y, 4}, 3) > threshold(y) ? 1 : 0;
    EXPECT_GT(squared_mmd({x, 4}, {z, 4}, 3), threshold(z));
  }
  EXPECT_GE(false_alarms, 0);
  EXPECT_LE(false_alarms, 9);  // 3 expected of 60; more than 9 has a chance of 1 in 1,000
}

TEST(PermutedMmd, GrowsWithTheQuantile) {
  const std::vector<float> x = normal_rows(20, 4, 0, Rng(1));
  const std::vector<float> y = normal_rows(20, 4, 0, Rng(2));
  const auto at = [&](double quantile) { return permuted_mmd({x, 4}, {y, 4}, 3, 50, quantile, Rng(3)); };
  EXPECT_LT(at(0), at(0.5));
  EXPECT_LT(at(0.5), at(1));
}

TEST(MedianDistance, IsThatOfThePairs) {
  const std::vector<float> line{0, 1, 10};  // 1, 9, 10
  EXPECT_DOUBLE_EQ(median_distance({line, 1}), 9);
  const std::vector<float> same{3, 3, 3};
  EXPECT_DOUBLE_EQ(median_distance({same, 1}), 1);
  EXPECT_DOUBLE_EQ(median_distance({std::span(same).first(1), 1}), 1);
}

}  // namespace
}  // namespace feroma
