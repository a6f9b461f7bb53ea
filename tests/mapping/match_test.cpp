#include "feroma/mapping/match.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace feroma {
namespace {

const ProfileShape kShape{2, 1, 1, true};

/// A profile whose marginal mean is (x, 0); everything else alike.
Profile profile_at(double x, double wiggle = 0) {
  Profile profile;
  profile.marginal = {{static_cast<float>(x), static_cast<float>(wiggle)}, {1, 1}};
  profile.per_class = {{{0}, {1}}};
  profile.prior = {1};
  profile.num_samples = 400;
  return profile;
}

std::vector<Profile> two_groups() {
  return {profile_at(0, 0.01), profile_at(0.02, -0.01), profile_at(0.01, 0.02),
          profile_at(5, 0.02), profile_at(5.02, -0.02), profile_at(5.01, 0.01)};
}

TEST(Match, GaussianOnReliableDistanceSeparatesGroups) {
  const std::vector<Profile> parents = two_groups();
  const std::vector<Profile> queries{profile_at(0.015, 0), profile_at(4.99, 0)};
  std::vector<Profile> pool = parents;
  pool.insert(pool.end(), queries.begin(), queries.end());
  const Gauge gauge = fit_gauge(Metric::reliable, kShape, false, {}, pool);
  const Distances distances = compare(gauge, queries, parents);
  const WeightRule rule;
  const Matrix weights = weights_of(rule, distances, kernel_width(rule, distances));
  EXPECT_NEAR(weights.at(0, 0) + weights.at(0, 1) + weights.at(0, 2), 1, 1e-9);
  EXPECT_NEAR(weights.at(1, 3) + weights.at(1, 4) + weights.at(1, 5), 1, 1e-9);
  // Within a group the differences are noise, so nobody dominates.
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_GT(weights.at(0, c), 0.2);
  }
}

TEST(Match, ACachedProfileIsNoNearerThanAFreshSample) {
  const std::vector<Profile> parents = two_groups();
  const Gauge gauge = fit_gauge(Metric::reliable, kShape, false, {}, parents);
  const Distances distances = compare(gauge, std::span(parents).first(1), parents);
  EXPECT_DOUBLE_EQ(distances.squared.at(0, 0), distances.floor.at(0, 0));
  EXPECT_GT(distances.floor.at(0, 0), 0);
  EXPECT_EQ(distances.excess().at(0, 0), 0);
}

RC_GTEST_PROP(Match, ReliableDistancesHaveTheBitsOfThePairwiseFormula, (std::uint16_t seed)) {
  Rng rng(seed);
  const ProfileShape shape{5, 2, 3, true};
  const auto random_profiles = [&](std::size_t count) {
    std::vector<Profile> profiles;
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<float> values(shape.size());
      for (float& value : values) {
        value = static_cast<float>(rng.uniform(0.1, 1));
      }
      // An absent class has no moments: its coordinates are skipped for this pair only. In every other case none is.
      values[values.size() - 1 - rng.below(3)] = seed % 2 == 0 && rng.bernoulli(0.5) ? 0.0F : 0.4F;
      profiles.push_back(decode(values, shape, 40 + static_cast<std::int64_t>(rng.below(400))));
    }
    return profiles;
  };
  const std::vector<Profile> parents = random_profiles(1 + rng.below(40));  // crosses the width of a panel
  std::vector<Profile> queries = random_profiles(3);
  queries.push_back(parents.front());
  std::vector<Profile> pool = parents;
  pool.insert(pool.end(), queries.begin(), queries.end());
  const Gauge gauge = fit_gauge(Metric::reliable, shape, false, {}, pool);
  const Distances distances = compare(gauge, queries, parents);
  for (std::size_t r = 0; r < queries.size(); ++r) {
    for (std::size_t c = 0; c < parents.size(); ++c) {
      const NoisyDistance expected = reliable_distance(gauge.reliability, signature_of(queries[r], shape, false),
                                                       signature_of(parents[c], shape, false));
      RC_ASSERT(distances.floor.at(r, c) == expected.floor);
      RC_ASSERT(distances.squared.at(r, c) == (queries[r] == parents[c] ? expected.floor : expected.squared));
    }
  }
}

TEST(Match, IdenticalProfilesShareEqually) {
  const std::vector<Profile> same(4, profile_at(1));
  const Gauge gauge = fit_gauge(Metric::reliable, kShape, false, {}, same);
  const Distances distances = compare(gauge, same, same);
  const WeightRule rule;
  EXPECT_EQ(weights_of(rule, distances, kernel_width(rule, distances)).values, std::vector<double>(16, 0.25));
}

TEST(Match, LabelFreeGaugeIgnoresClassBlocks) {
  Profile a = profile_at(0);
  Profile b = profile_at(0);
  b.per_class[0].mean[0] = 9;
  const std::vector<Profile> both{a, b};
  const Gauge blind = fit_gauge(Metric::euclidean, kShape, true, {}, both);
  const Gauge full = fit_gauge(Metric::euclidean, kShape, false, {}, both);
  EXPECT_EQ(compare(blind, std::span(both).first(1), both).squared.at(0, 1), 0);
  EXPECT_DOUBLE_EQ(compare(full, std::span(both).first(1), both).squared.at(0, 1), 81);
}

TEST(Match, VectorMetricsCompareScaledMoments) {
  const ProfileShape shape{1, 1, 0, false};
  const Profile a{{{3}, {4}}, {}, {}, 100};
  const Profile b{{{4}, {3}}, {}, {}, 100};
  const auto squared = [&](Metric metric, const BlockScaler& scaler) {
    const Gauge gauge = fit_gauge(metric, shape, false, scaler, std::span(&a, 1));
    return compare(gauge, std::span(&a, 1), std::span(&b, 1)).squared.at(0, 0);
  };
  EXPECT_DOUBLE_EQ(squared(Metric::euclidean, {}), 2);
  EXPECT_NEAR(squared(Metric::cosine, {}), 0.04 * 0.04, 1e-15);           // 1 - 24 / 25
  EXPECT_DOUBLE_EQ(squared(Metric::euclidean, {{{0, 1, 0, 2}}}), 4 + 1);  // the mean counts twice
  EXPECT_NE(squared(Metric::cosine, {{{0, 1, 0, 2}}}), squared(Metric::cosine, {}));
}

// Above a noise floor of 1 the squared distances are 0 and 4; at width sqrt(2) the second weighs 1 / e of the first.
TEST(Match, GaussianLooksAtWhatIsLeftAboveTheNoise) {
  Distances distances{Matrix(1, 2), Matrix(1, 2, 1)};
  distances.squared.values = {0.5, 5};
  const Matrix weights = weights_of({Kernel::gaussian, 1, 0.5, 0}, distances, std::sqrt(2.0));
  EXPECT_NEAR(weights.at(0, 1) / weights.at(0, 0), std::exp(-1.0), 1e-12);
}

TEST(Match, TemperatureDividesTheSoftmaxDistances) {
  Distances distances{Matrix(1, 2), Matrix(1, 2)};
  distances.squared.values = {0, 9};
  const Matrix weights = weights_of({Kernel::softmax, 1.5, 0.5, 0}, distances, 0);
  EXPECT_NEAR(weights.at(0, 1) / weights.at(0, 0), std::exp(-2.0), 1e-12);
}

TEST(Match, EveryKernelGivesDifferentWeights) {
  const std::vector<Profile> parents = two_groups();
  const std::vector<Profile> query{profile_at(1)};
  const Gauge gauge = fit_gauge(Metric::euclidean, kShape, false, {}, parents);
  const Distances distances = compare(gauge, query, parents);
  std::vector<std::vector<double>> seen;
  for (const Kernel kernel : {Kernel::softmax, Kernel::inverse, Kernel::gaussian, Kernel::uniform}) {
    const Matrix weights = weights_of({kernel, 1, 0.5, 0}, distances, kernel_width({kernel, 1, 0.5, 0}, distances));
    for (const auto& other : seen) {
      EXPECT_NE(weights.values, other);
    }
    seen.push_back(weights.values);
  }
}

TEST(Match, WidthAmongParentsIgnoresThemselves) {
  const std::vector<Profile> parents{profile_at(0), profile_at(2), profile_at(6)};
  const Gauge gauge = fit_gauge(Metric::euclidean, kShape, true, {}, parents);
  // Smallest distances to another parent: 2, 2, 4; half the median is 1.
  EXPECT_DOUBLE_EQ(kernel_width_among({}, gauge, parents), 1);
  EXPECT_EQ(kernel_width_among({}, gauge, std::span(parents).first(1)), 0);
}

TEST(Match, ThresholdOfOneOverKKeepsAtLeastOne) {
  const std::vector<Profile> parents = two_groups();
  const Gauge gauge = fit_gauge(Metric::euclidean, kShape, true, {}, parents);
  const Distances distances = compare(gauge, std::span(parents).first(1), parents);
  const Matrix weights = weights_of({Kernel::inverse, 1, 0.5, 1.0 / 6}, distances, 0);
  EXPECT_EQ(weights.at(0, 0), 1);
}

}  // namespace
}  // namespace feroma
