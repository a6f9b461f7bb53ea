#include "feroma/privacy/release.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/privacy/accountant.h"
#include "tests/expect_error.h"
#include "tests/privacy/seeded_entropy.h"

namespace feroma {
namespace {

using test::SeededEntropy;

// The worst neighbours: nobody, and one record at the corner that reaches the bound. Every output's probability is
// known, so the largest ratio is too: it is epsilon and never more.
TEST(Release, LaplaceRatioOfTheWorstPairIsEpsilon) {
  const SumShape shape = box_shape(10, 1);
  const std::vector<std::int64_t> one = block_of(shape, std::vector<float>(10, 1.0F));
  for (const double epsilon : {0.1, 1.0, 10.0 / 3}) {
    const LaplaceScale scale = laplace_scale(sensitivity(shape, Neighbours::add_remove), epsilon);
    const double rate = static_cast<double>(scale.denominator) / static_cast<double>(scale.scale);
    double largest = 0;
    Rng rng(1);
    for (int i = 0; i < 10000; ++i) {
      double log_ratio = 0;
      for (const std::int64_t value : one) {
        const auto t = static_cast<double>(value);
        const double output = i == 0 ? t : std::round(rng.uniform(-3, 3) * 65536);
        log_ratio += rate * (std::abs(output) - std::abs(output - t));
      }
      largest = std::max(largest, std::abs(log_ratio));
    }
    EXPECT_LE(largest, epsilon * (1 + 1e-12));
    EXPECT_GE(largest, 0.999 * epsilon);
  }
}

/// Renyi divergence of discrete Gaussians `shift` apart, by summing over all that matters.
double renyi(double order, std::int64_t shift, std::uint64_t variance) {
  const auto spread = static_cast<std::int64_t>(12 * std::sqrt(static_cast<double>(variance)));
  const auto reach = static_cast<std::int64_t>(order * static_cast<double>(shift)) + shift + spread;
  const auto twice = 2 * static_cast<long double>(variance);
  long double normal = 0;
  long double sum = 0;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    const auto here = static_cast<long double>(k);
    const auto there = static_cast<long double>(k - shift);
    normal += std::exp(-here * here / twice);
    // (here / there)^order * there, with the largest exponent taken out: order (order - 1) shift^2 / (2 variance).
    const long double exponent =
        static_cast<long double>(1 - order) * here * here + static_cast<long double>(order) * there * there;
    sum += std::exp(-exponent / twice -
                    static_cast<long double>(order * (order - 1)) * static_cast<long double>(shift * shift) / twice);
  }
  return static_cast<double>((std::log(sum / normal)) / static_cast<long double>(order - 1) +
                             static_cast<long double>(order) * static_cast<long double>(shift * shift) / twice);
}

TEST(Release, GaussianDivergenceIsWithinRho) {
  for (const double rho : {0.03, 0.5, 1.8}) {
    const std::int64_t shift = 300;
    const std::uint64_t variance = gaussian_variance(shift * shift, rho);
    for (const double order : {1.5, 2.0, 8.0, 32.0}) {
      EXPECT_LE(renyi(order, shift, variance), order * rho * (1 + 1e-9)) << order;
      EXPECT_GE(renyi(order, shift, variance), 0.99 * order * rho) << order;
    }
  }
}

TEST(Release, NoiseIsAsLargeAsItsBudgetSays) {
  SeededEntropy entropy(1);
  for (const bool pure : {true, false}) {
    const SumShape shape = pure ? box_shape(10, 10) : SumShape{};
    const double cost = pure ? 1.0 : rho_of(1, 1e-5);
    const std::vector<std::int64_t> sums(shape.size(), 1000);
    double squares = 0;
    int count = 0;
    for (int i = 0; i < 40; ++i) {
      for (const std::int64_t value : release(shape, Neighbours::add_remove, cost, sums, entropy)) {
        const double noise = static_cast<double>(value - 1000) / 65536;
        squares += noise * noise;
        count += 1;
      }
    }
    // 12.25 sqrt(2) and 4.93 in the units of the sums.
    EXPECT_NEAR(std::sqrt(squares / count), pure ? 17.32 : 4.93, pure ? 0.9 : 0.25);
  }
}

TEST(Release, EveryEntryHasNoiseOfItsOwn) {
  SeededEntropy entropy(2);
  const std::vector<std::int64_t> sums(SumShape{}.size());
  const std::vector<std::int64_t> first = release({}, Neighbours::add_remove, 0.5, sums, entropy);
  const std::vector<std::int64_t> second = release({}, Neighbours::add_remove, 0.5, sums, entropy);
  int equal = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    equal += first[i] == second[i] || first[i] == 0 ? 1 : 0;
    equal += i > 0 && first[i] == first[i - 1] ? 1 : 0;
  }
  EXPECT_LE(equal, 1);
}

TEST(Release, RefusesWhatItCannotProtect) {
  SeededEntropy entropy(3);
  const std::vector<std::int64_t> sums(SumShape{}.size());
  expect_error(ErrorCode::invalid_config, "rho above 0",
               [&] { return release({}, Neighbours::add_remove, 0, sums, entropy); });
  expect_error(ErrorCode::invalid_config, "beyond 2^26 units",
               [&] { return release({}, Neighbours::add_remove, 1e-7, sums, entropy); });
  expect_error(ErrorCode::invalid_config, "epsilon must be in",
               [&] { return release(box_shape(10, 10), Neighbours::add_remove, 1e-9, sums, entropy); });
  expect_error(ErrorCode::internal, "must have 210 sums",
               [&] { return release({}, Neighbours::add_remove, 1, std::vector<std::int64_t>(3), entropy); });
}

}  // namespace
}  // namespace feroma
