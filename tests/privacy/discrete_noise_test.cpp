#include "feroma/privacy/discrete_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "feroma/core/error.h"
#include "tests/expect_error.h"
#include "tests/privacy/seeded_entropy.h"

namespace feroma {
namespace {

using test::SeededEntropy;

constexpr int kFewDraws = 200000;
constexpr int kManyDraws = 1000000;

/// Chi-square against exact weights over -reach..reach, in bins with at least 20 expected draws; the number of standard
/// deviations by which it exceeds its mean. Beyond 5 has a chance of about 1e-6 and less.
double misfit(int draws, std::int64_t reach, const std::function<double(std::int64_t)>& log_weight,
              const std::function<std::int64_t()>& draw) {
  double total = 0;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    total += std::exp(log_weight(k));
  }
  std::map<std::int64_t, int> seen;
  for (int i = 0; i < draws; ++i) {
    seen[draw()] += 1;
  }
  double chi = 0;
  int bins = 0;
  double expected = 0;
  double counted = 0;
  double left = draws;
  double left_counted = draws;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    expected += draws * std::exp(log_weight(k)) / total;
    const auto found = seen.find(k);
    counted += found == seen.end() ? 0 : found->second;
    if (expected >= 20 && left - expected >= 20) {
      chi += (counted - expected) * (counted - expected) / expected;
      bins += 1;
      left -= expected;
      left_counted -= counted;
      expected = counted = 0;
    }
  }
  chi += (left_counted - left) * (left_counted - left) / left;
  return (chi - bins) / std::sqrt(2.0 * std::max(bins, 1));
}

double laplace_misfit(int draws, int scale, int denominator, EntropySource& entropy) {
  DiscreteNoise noise(entropy);
  const double rate = static_cast<double>(denominator) / scale;
  return misfit(
      draws, 200, [&](std::int64_t k) { return -std::abs(static_cast<double>(k)) * rate; },
      [&] { return noise.laplace(static_cast<std::uint64_t>(scale), static_cast<std::uint64_t>(denominator)); });
}

double gaussian_misfit(int draws, std::uint64_t variance, EntropySource& entropy) {
  DiscreteNoise noise(entropy);
  const auto reach = static_cast<std::int64_t>(10 * std::sqrt(static_cast<double>(variance))) + 3;
  return misfit(
      draws, reach, [&](std::int64_t k) { return -static_cast<double>(k * k) / (2 * static_cast<double>(variance)); },
      [&] { return noise.gaussian(variance); });
}

void expect_exact_probabilities(int draws, EntropySource& entropy) {
  for (const auto& [scale, denominator] : {std::pair{3, 1}, {10, 3}, {1, 2}}) {
    EXPECT_LT(laplace_misfit(draws, scale, denominator, entropy), 5) << scale << "/" << denominator;
  }
  for (const std::uint64_t variance : {1UL, 4UL, 25UL, 1000000UL}) {
    EXPECT_LT(gaussian_misfit(draws, variance, entropy), 5) << variance;
  }
}

TEST(DiscreteNoise, HasItsExactProbabilities) {
  SeededEntropy entropy(1);
  expect_exact_probabilities(kFewDraws, entropy);
}

TEST(DiscreteNoiseSlow, HasItsExactProbabilities) {
  SeededEntropy entropy(2);
  expect_exact_probabilities(kManyDraws, entropy);
}

// The real source, by vote: each of nine may fail by chance.
TEST(DiscreteNoiseSlow, HasItsExactProbabilitiesFromTheSystem) {
  SystemEntropy entropy;
  int passed = 0;
  for (int vote = 0; vote < 9; ++vote) {
    passed += laplace_misfit(kFewDraws, 10, 3, entropy) < 5 && gaussian_misfit(kFewDraws, 25, entropy) < 5 ? 1 : 0;
  }
  EXPECT_GE(passed, 5);
}

TEST(DiscreteNoise, MomentsAreRightUpToTheLargestVariance) {
  SeededEntropy entropy(3);
  DiscreteNoise noise(entropy);
  const std::uint64_t variance = std::uint64_t{1} << 52;
  double sum = 0;
  double squares = 0;
  constexpr int draws = 20000;
  for (int i = 0; i < draws; ++i) {
    const double k = static_cast<double>(noise.gaussian(variance)) / static_cast<double>(1 << 26);
    sum += k;
    squares += k * k;
  }
  EXPECT_NEAR(sum / draws, 0, 5 / std::sqrt(draws));
  EXPECT_NEAR(squares / draws, 1, 5 * std::sqrt(2.0 / draws));
}

TEST(DiscreteNoise, BernoulliOfAnExponential) {
  SeededEntropy entropy(4);
  DiscreteNoise noise(entropy);
  for (const auto& [a, b] : {std::pair{0, 1}, {1, 3}, {1, 1}, {7, 3}}) {
    int hits = 0;
    for (int i = 0; i < kFewDraws; ++i) {
      hits += noise.bernoulli_exp(static_cast<Wide>(a), static_cast<Wide>(b)) ? 1 : 0;
    }
    const double p = std::exp(-static_cast<double>(a) / b);
    EXPECT_NEAR(hits, kFewDraws * p, 5 * std::sqrt(kFewDraws * p * (1 - p)) + 1e-9) << a << "/" << b;
  }
}

TEST(DiscreteNoise, UniformReachesEveryValueAndNoOther) {
  SeededEntropy entropy(5);
  DiscreteNoise noise(entropy);
  std::map<int, int> seen;
  for (int i = 0; i < 60000; ++i) {
    seen[static_cast<int>(noise.uniform_below(6))] += 1;
  }
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_EQ(seen.begin()->first, 0);
  EXPECT_EQ(seen.rbegin()->first, 5);
  for (const auto& [value, count] : seen) {
    EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000 * 5 / 6.0));
  }
  EXPECT_EQ(static_cast<int>(noise.uniform_below(1)), 0);
}

class Exhausted final : public EntropySource {
 public:
  void fill(std::span<std::byte>) override { fail(ErrorCode::io, "no more bytes"); }
};

TEST(DiscreteNoise, WithoutEntropyThereIsNoNoise) {
  Exhausted none;
  DiscreteNoise noise(none);
  expect_error(ErrorCode::io, "no more bytes", [&] { return noise.gaussian(4); });
  expect_error(ErrorCode::io, "no more bytes", [&] { return noise.laplace(3, 1); });
}

TEST(DiscreteNoise, RefusesScalesItCannotHold) {
  SeededEntropy entropy(6);
  DiscreteNoise noise(entropy);
  expect_error(ErrorCode::internal, "variance in 1..2^52", [&] { return noise.gaussian(0); });
  expect_error(ErrorCode::internal, "variance in 1..2^52",
               [&] { return noise.gaussian((std::uint64_t{1} << 52) + 1); });
  expect_error(ErrorCode::internal, "scale in 1..2^62", [&] { return noise.laplace(0, 1); });
}

TEST(SystemEntropy, IsDifferentEveryTimeAndAcrossBlocks) {
  SystemEntropy first;
  SystemEntropy second;
  std::vector<std::byte> a(10000);
  std::vector<std::byte> b(10000);
  first.fill(a);
  second.fill(b);
  EXPECT_NE(a, b);
  EXPECT_FALSE(std::equal(a.begin(), a.begin() + 4096, a.begin() + 4096));
}

}  // namespace
}  // namespace feroma
