#include "feroma/privacy/noisy_moments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/rng.h"
#include "feroma/privacy/accountant.h"
#include "feroma/privacy/release.h"
#include "tests/expect_error.h"
#include "tests/privacy/seeded_entropy.h"

namespace feroma {
namespace {

using test::SeededEntropy;

/// Records of two classes around different centres, small enough that nothing is clipped.
RecordSums two_classes(const SumShape& shape, int count, Rng& rng) {
  RecordSums sums(shape);
  for (int i = 0; i < count; ++i) {
    const int label = i % 2;
    std::vector<float> x(static_cast<std::size_t>(shape.coordinates));
    for (std::size_t c = 0; c < x.size(); ++c) {
      x[c] = static_cast<float>((label == 0 ? 0.1 : -0.05) + 0.08 * rng.normal());
    }
    sums.add(x, std::span(&label, 1));
  }
  return sums;
}

std::vector<double> pooled_spread(const SumShape& shape, std::span<const std::vector<std::int64_t>> releases) {
  std::vector<double> spread = pooled_moments(shape, releases).variance;
  for (double& value : spread) {
    value = std::sqrt(value);
  }
  return spread;
}

TEST(NoisyMoments, WithoutNoiseAreTheMoments) {
  Rng rng(1);
  for (const SumShape& shape : {SumShape{.coordinates = 4, .classes = 2}, box_shape(4, 2)}) {
    const RecordSums sums = two_classes(shape, 4000, rng);
    const std::vector<std::vector<std::int64_t>> all{{sums.values().begin(), sums.values().end()}};
    const std::vector<double> reference = pooled_spread(shape, all);
    const NoisyStatistics read = read_statistics(shape, sums.values(), 0, reference);
    EXPECT_NEAR(read.classes[0].count, 2000, 0.1);
    EXPECT_NEAR(read.marginal.count, 4000, 0.2);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(read.classes[0].mean[i], 0.1, 0.01);
      EXPECT_NEAR(read.classes[1].mean[i], -0.05, 0.01);
      EXPECT_NEAR(read.classes[0].variance[i], 0.0064, 0.0005);
      EXPECT_NEAR(read.marginal.mean[i], 0.025, 0.01);
      EXPECT_NEAR(read.marginal.variance[i], 0.0064 + 0.075 * 0.075, 0.0006);
      EXPECT_NEAR(reference[i], std::sqrt(read.marginal.variance[i]), 1e-6);
      EXPECT_NEAR(read.marginal.spread[i], reference[i], 1e-6) << "at the reference it is the spread itself";
    }
  }
}

// What a profile says of its own noise must be so: over many releases, each value varies by as much.
TEST(NoisyMoments, KnowTheirNoise) {
  Rng rng(2);
  SeededEntropy entropy(2);
  for (const bool pure : {false, true}) {
    const SumShape shape = pure ? box_shape(4, 2) : SumShape{.coordinates = 4, .classes = 2};
    const double cost = pure ? 8.0 : rho_of(4, 1e-5);
    const RecordSums sums = two_classes(shape, 1000, rng);
    const std::vector<std::vector<std::int64_t>> all{{sums.values().begin(), sums.values().end()}};
    const std::vector<double> reference = pooled_spread(shape, all);
    const double noise = release_noise(shape, Neighbours::add_remove, cost);
    const NoisyStatistics exact = read_statistics(shape, sums.values(), 0, reference);
    double mean_error = 0;
    double mean_said = 0;
    double spread_error = 0;
    double spread_said = 0;
    double marginal_error = 0;
    double marginal_said = 0;
    for (int i = 0; i < 600; ++i) {
      const auto released = release(shape, Neighbours::add_remove, cost, sums.values(), entropy);
      const NoisyStatistics read = read_statistics(shape, released, noise, reference);
      for (std::size_t c = 0; c < 4; ++c) {
        mean_error += std::pow(read.classes[0].mean[c] - exact.classes[0].mean[c], 2);
        mean_said += read.classes[0].mean_noise[c];
        spread_error += std::pow(read.classes[0].spread[c] - exact.classes[0].spread[c], 2);
        spread_said += read.classes[0].spread_noise[c];
        marginal_error += std::pow(read.marginal.mean[c] - exact.marginal.mean[c], 2);
        marginal_said += read.marginal.mean_noise[c];
      }
    }
    EXPECT_NEAR(mean_error / mean_said, 1, 0.15) << pure;
    EXPECT_NEAR(marginal_error / marginal_said, 1, 0.15) << pure;
    EXPECT_NEAR(spread_error / spread_said, 1, 0.15) << pure;
  }
}

TEST(NoisyMoments, AnAbsentClassIsNotPresent) {
  SeededEntropy entropy(3);
  const SumShape shape{.coordinates = 4, .classes = 3};
  Rng rng(3);
  const RecordSums sums = two_classes(shape, 1000, rng);
  const double cost = rho_of(2, 1e-5);
  const auto released = release(shape, Neighbours::add_remove, cost, sums.values(), entropy);
  const NoisyStatistics read =
      read_statistics(shape, released, release_noise(shape, Neighbours::add_remove, cost), std::vector<double>(4, 0.1));
  EXPECT_TRUE(read.classes[0].present);
  EXPECT_TRUE(read.classes[1].present);
  EXPECT_FALSE(read.classes[2].present);
  EXPECT_GE(read.classes[2].count, 2 * read.classes[2].count_noise);
}

TEST(NoisyMoments, RefuseAnotherLength) {
  expect_error(ErrorCode::invalid_data, "must have 210 sums", [] {
    return read_statistics({}, std::vector<std::int64_t>(3), 1, std::vector<double>(10, 1)).classes.size();
  });
}

}  // namespace
}  // namespace feroma
