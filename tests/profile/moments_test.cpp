#include "feroma/profile/moments.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "feroma/core/rng.h"

namespace feroma {
namespace {

std::vector<std::uint32_t> all(const Rows& rows) {
  std::vector<std::uint32_t> which(rows.count());
  std::iota(which.begin(), which.end(), 0U);
  return which;
}

TEST(Moments, UseThePopulationDivisor) {
  const Rows rows{1, {1, 3}};
  const Moments moments = moments_of(rows, all(rows));
  EXPECT_FLOAT_EQ(moments.mean[0], 2);
  EXPECT_FLOAT_EQ(moments.std[0], 1);  // sqrt(((1-2)^2 + (3-2)^2) / 2)
}

TEST(Moments, CountRepeatedRowsAsOftenAsListed) {
  const Rows rows{1, {0, 3}};
  const std::vector<std::uint32_t> which{0, 1, 1};
  EXPECT_FLOAT_EQ(moments_of(rows, which).mean[0], 2);
}

TEST(Moments, KeepTheirDigitsUnderALargeMean) {
  const Rows rows{1, {1e6F, 1e6F + 1, 1e6F + 2}};
  EXPECT_NEAR(moments_of(rows, all(rows)).std[0], std::sqrt(2.0 / 3.0), 1e-6);
}

RC_GTEST_PROP(Moments, DoNotDependOnTheOrderOfSamples, (std::uint16_t seed)) {
  Rng rng(seed);
  Rows rows{3, {}};
  for (int i = 0; i < 60; ++i) {
    rows.values.push_back(static_cast<float>(rng.normal()));
  }
  std::vector<std::uint32_t> order = all(rows);
  const Moments before = moments_of(rows, order);
  rng.shuffle(std::span(order));
  const Moments after = moments_of(rows, order);
  for (std::size_t c = 0; c < 3; ++c) {
    RC_ASSERT(std::abs(before.mean[c] - after.mean[c]) <= 1e-5F);
    RC_ASSERT(std::abs(before.std[c] - after.std[c]) <= 1e-5F);
  }
}

TEST(Moments, AverageIsCoordinateWise) {
  const std::vector<Moments> parts{{{1, 2}, {0, 4}}, {{3, 2}, {2, 0}}};
  const Moments mean = average(parts);
  EXPECT_EQ(mean.mean, (std::vector<float>{2, 2}));
  EXPECT_EQ(mean.std, (std::vector<float>{1, 2}));
}

// For diagonal Gaussians W2^2 = |m1 - m2|^2 + |s1 - s2|^2; here 3^2 + 4^2 + 0 + 12^2 = 13^2.
TEST(Wasserstein2, EqualsTheAnalyticDistanceOfDiagonalGaussians) {
  EXPECT_DOUBLE_EQ(wasserstein2({{0, 0}, {1, 1}}, {{3, 4}, {1, 13}}), 13);
}

}  // namespace
}  // namespace feroma
