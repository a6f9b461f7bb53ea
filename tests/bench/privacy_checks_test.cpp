#include "src/bench/privacy_checks.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feroma::detail {
namespace {

TEST(ClimbToBound, ReachesButNeverPassesTheBound) {
  for (const SumShape& shape : {box_shape(3, 1), SumShape{.coordinates = 3, .classes = 1}}) {
    const WorstRecord worst = climb_to_bound(shape, 20000, Rng(1));
    EXPECT_GT(worst.share, 0.999);
    EXPECT_LE(worst.share, 1);
    EXPECT_TRUE(within_bound(shape, worst.block));
  }
}

TEST(LaplaceLogRatio, IsTheDistanceTimesTheRate) {
  EXPECT_DOUBLE_EQ(laplace_log_ratio(std::vector<std::int64_t>{3, -5, 0}, 0.25), 2);
}

/// The definition, term by term.
double summed_renyi(double order, int shift, double variance) {
  double sum = 0;
  double normal = 0;
  for (int k = -400; k <= 400; ++k) {
    normal += std::exp(-k * k / (2 * variance));
    sum += std::exp((-order * (k - shift) * (k - shift) - (1 - order) * k * k) / (2 * variance));
  }
  return std::log(sum / normal) / (order - 1);
}

TEST(RenyiDivergence, IsTheSumOverAllIntegers) {
  for (const double order : {1.5, 1.7, 2.0, 8.0}) {
    for (const int shift : {-2, 1, 3}) {
      EXPECT_NEAR(renyi_divergence(order, shift, 1), summed_renyi(order, shift, 1), 1e-12) << order << " " << shift;
    }
  }
}

// A centre between two integers has less weight around it than one on an integer.
TEST(RenyiDivergence, IsNeverAboveTheContinuousOne) {
  EXPECT_EQ(renyi_divergence(2, 3, 1), 9);
  EXPECT_LT(renyi_divergence(1.5, 1, 1), 0.75);
  EXPECT_EQ(renyi_divergence(1.5, 0, 1), 0);
}

}  // namespace
}  // namespace feroma::detail
