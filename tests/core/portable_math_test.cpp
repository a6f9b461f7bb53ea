#include "feroma/core/portable_math.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "feroma/core/rng.h"
#include "tests/golden_bits.h"

namespace feroma {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class PortableMath : public OnEverySimdTarget {};

TEST_P(PortableMath, AgreesWithTheLibraryToFourUnits) {
  const OnlySimd only(GetParam());
  Rng rng(1);
  for (int i = 0; i < 10'000; ++i) {
    const double power = rng.uniform(-700, 700);
    EXPECT_NEAR(portable_exp(power) / std::exp(power), 1.0, 4 * kEpsilon) << power;
    const double value = std::exp(power);
    EXPECT_NEAR(portable_log(value), std::log(value), 4 * kEpsilon * std::abs(power) + kEpsilon) << value;
    const double angle = rng.uniform(0, 2 * std::numbers::pi);
    EXPECT_NEAR(portable_cos(angle), std::cos(angle), 4 * kEpsilon) << angle;
  }
}

TEST_P(PortableMath, KnowsTheEndsOfItsDomains) {
  const OnlySimd only(GetParam());
  EXPECT_EQ(portable_exp(0), 1.0);
  EXPECT_EQ(portable_exp(-kInfinity), 0.0);
  EXPECT_EQ(portable_exp(-1e9), 0.0);
  EXPECT_EQ(portable_exp(kInfinity), kInfinity);
  for (const double large : {705.0, 707.5, 709.0, 709.78}) {
    EXPECT_NEAR(portable_exp(large) / std::exp(large), 1.0, 4 * kEpsilon) << large;
  }
  for (const double larger : {709.79, 711.0, 1500.0, 1e300}) {
    EXPECT_EQ(portable_exp(larger), kInfinity) << larger;
  }
  EXPECT_EQ(portable_log(1), 0.0);
  EXPECT_EQ(portable_log(0), -kInfinity);
  EXPECT_EQ(portable_log(kInfinity), kInfinity);
  EXPECT_NEAR(portable_log(5e-324), -744.4400719213812, 1e-9);
  EXPECT_TRUE(std::isnan(portable_log(-1)));
  for (const auto function : {portable_exp, portable_log, portable_cos}) {
    EXPECT_TRUE(std::isnan(function(std::numeric_limits<double>::quiet_NaN())));
  }
  EXPECT_TRUE(std::isnan(portable_cos(kInfinity)));
}

TEST_P(PortableMath, GivesTheStoredBitsWithFusedProducts) {
  if (!has_fused_products()) {
    GTEST_SKIP() << "without fused products the last bit may differ";
  }
  const OnlySimd only(GetParam());
  Rng rng(2);
  std::vector<double> values;
  for (int i = 0; i < 1'000; ++i) {
    values.push_back(portable_exp(rng.uniform(-30, 30)));
    values.push_back(portable_log(rng.uniform()));
    values.push_back(portable_cos(rng.uniform(0, 7)));
    values.push_back(rng.normal());
  }
  expect_golden_bits("portable_math", std::as_bytes(std::span(values)));
}

INSTANTIATE_TEST_SUITE_P(Simd, PortableMath, every_simd_target(), simd_test_name);

}  // namespace
}  // namespace feroma
