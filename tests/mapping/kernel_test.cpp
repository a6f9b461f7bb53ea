#include "feroma/mapping/kernel.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "feroma/core/error.h"
#include "feroma/core/rng.h"

namespace feroma {
namespace {

double total(const std::vector<double>& weights) { return std::accumulate(weights.begin(), weights.end(), 0.0); }

RC_GTEST_PROP(Kernels, RowsSumToOneAndNearerWeighsMore, (std::uint16_t seed)) {
  Rng rng(seed);
  std::vector<double> d(1 + rng.below(30));
  for (double& value : d) {
    value = 0.01 + rng.uniform(0, 5);
  }
  for (const auto& weights : {softmax_weights(d, 0.7), inverse_weights(d), gaussian_weights(d, 0.9)}) {
    RC_ASSERT(std::abs(total(weights) - 1) < 1e-12);
    for (std::size_t i = 0; i < d.size(); ++i) {
      for (std::size_t j = 0; j < d.size(); ++j) {
        RC_ASSERT(!(d[i] < d[j]) || weights[i] >= weights[j]);
      }
    }
  }
}

// Four of twenty parents at 0.02, the rest at 0.15 (cosine distances): softmax is nearly uniform, 1/d is not.
TEST(Kernels, SoftmaxOfSmallCosineDistancesIsNearlyFedAvg) {
  std::vector<double> d(20, 0.15);
  std::fill_n(d.begin(), 4, 0.02);
  EXPECT_NEAR(softmax_weights(d, 1)[0], 0.055, 5e-4);
  EXPECT_NEAR(softmax_weights(d, 1)[19], 0.049, 5e-4);
  EXPECT_NEAR(inverse_weights(d)[0], 0.163, 5e-4);
  EXPECT_NEAR(inverse_weights(d)[19], 0.022, 5e-4);
}

TEST(Kernels, TemperatureSharpensSoftmax) {
  const std::vector<double> d{0, 1};
  EXPECT_LT(softmax_weights(d, 1)[0], softmax_weights(d, 0.1)[0]);
}

TEST(Kernels, InverseOfDistanceZeroIsTheReferenceConstant) {
  EXPECT_NEAR(inverse_weights(std::vector<double>{0, 1})[1], 1e-8, 1e-15);
}

// exp(-d^2 / (2 s^2)): d^2 = 8 at s = 2 weighs 1 / e of the nearest.
TEST(Gaussian, FallsToOneOverEAtTwiceTheSquaredWidth) {
  const auto weights = gaussian_weights(std::vector<double>{0, 8}, 2);
  EXPECT_NEAR(weights[1] / weights[0], std::exp(-1.0), 1e-12);
}

TEST(Gaussian, OneAtDistanceZeroAndOthersFarTakesAll) {
  EXPECT_EQ(gaussian_weights(std::vector<double>{0, 1e6, 1e6}, 0.5), (std::vector<double>{1, 0, 0}));
}

TEST(Gaussian, WidthZeroSharesBetweenTheNearest) {
  EXPECT_EQ(gaussian_weights(std::vector<double>{2, 2, 3}, 0), (std::vector<double>{0.5, 0.5, 0}));
}

TEST(Gaussian, IdenticalDistancesAreUniform) {
  EXPECT_EQ(gaussian_weights(std::vector<double>(4, 7.0), 0.1), std::vector<double>(4, 0.25));
}

TEST(Gaussian, HugeDistancesDoNotOverflow) {
  const auto weights = gaussian_weights(std::vector<double>{1e300, 2e300}, 1e-3);
  EXPECT_EQ(weights, (std::vector<double>{1, 0}));
}

TEST(GaussianWidth, IsAShareOfTheMedianSmallestDistance) {
  Matrix d(3, 2);
  d.values = {1, 9, 5, 3, 8, 10};  // smallest per row: 1, 3, 8
  EXPECT_DOUBLE_EQ(gaussian_width(d, 0.5), 1.5);
}

TEST(GaussianWidth, OfAnEvenNumberOfRowsTakesTheMiddleOfTwo) {
  Matrix d(2, 2);
  d.values = {1, 9, 5, 3};
  EXPECT_DOUBLE_EQ(gaussian_width(d, 1), 2);
  EXPECT_EQ(gaussian_width({}, 1), 0);
}

TEST(Threshold, DropsSmallWeightsAndRenormalises) {
  const auto kept = threshold_weights(std::vector<double>{0.6, 0.3, 0.1}, 0.2);
  EXPECT_NEAR(kept[0], 2.0 / 3, 1e-15);
  EXPECT_NEAR(kept[1], 1.0 / 3, 1e-15);
  EXPECT_EQ(kept[2], 0);
}

TEST(Threshold, KeepsAWeightEqualToIt) {
  const std::vector<double> weights{0.5, 0.25, 0.25};
  EXPECT_EQ(threshold_weights(weights, 0.25), weights);
}

TEST(Threshold, FallsBackToUniformWhenNoneSurvives) {
  EXPECT_EQ(threshold_weights(std::vector<double>{0.5, 0.5}, 0.9), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(threshold_weights(std::vector<double>{0.7, 0.3}, 0.9), (std::vector<double>{0.5, 0.5}));
}

TEST(Softmax, WhatIsNotANumberWeighsNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(softmax_weights(std::vector<double>{nan, 2, infinite, 2}, 0.5), (std::vector<double>{0, 0.5, 0, 0.5}));
  EXPECT_EQ(softmax_weights(std::vector<double>{nan, infinite}, 0.5), (std::vector<double>{0.5, 0.5}));
}

TEST(Kernels, NeedAParent) { EXPECT_THROW((void)softmax_weights({}, 1), Error); }

}  // namespace
}  // namespace feroma
