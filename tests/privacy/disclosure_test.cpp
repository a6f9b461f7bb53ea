#include "feroma/privacy/disclosure.h"

#include <gtest/gtest.h>

#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

PrivacyOptions gaussian(int releases) {
  PrivacyOptions options;
  options.mode = PrivacyMode::gaussian;
  options.max_releases = releases;
  return options;
}

const SumShape kShape{.coordinates = 2, .classes = 1};
const std::vector<std::int64_t> kSums(kShape.size(), 1000);

TEST(Disclosure, TellsTheSameOfTheSameDataAndAnewOfOthers) {
  const test::TempFolder folder;
  Disclosure client(gaussian(4), folder.path() / "a", "run", system_entropy());
  const auto first = client.profile(0, 0, kShape, kSums);
  ASSERT_TRUE(first);
  EXPECT_NE(*first, kSums);
  EXPECT_EQ(client.profile(0, 0, kShape, kSums), first) << "fresh noise could be averaged away";
  EXPECT_NE(client.profile(1, 0, kShape, kSums), first);
  EXPECT_NE(client.profile(0, 1, kShape, kSums), first);
  // After a restart too.
  EXPECT_EQ(Disclosure(gaussian(4), folder.path() / "a", "run").profile(0, 0, kShape, kSums), first);
  Disclosure other(gaussian(4), folder.path() / "b", "run");
  EXPECT_NE(other.profile(0, 0, kShape, kSums), first) << "two clients with the same data";
}

TEST(Disclosure, OfAClientThatDoesNotTrainIsOfTheVersionThatItWasMadeFor) {
  const test::TempFolder folder;
  const auto told_of = [&](std::int64_t version) {
    return Disclosure(gaussian(4), folder.path() / "a", "run", system_entropy(), version).unlabelled(0, kShape, kSums);
  };
  const auto first = told_of(7);
  ASSERT_TRUE(first);
  EXPECT_EQ(told_of(7), first);
  EXPECT_NE(told_of(8), first) << "other data";
  EXPECT_EQ(told_of(7), first) << "and the first ones again";
}

TEST(Disclosure, SpendsWhatThePlanSaysAndThenNoMore) {
  const test::TempFolder folder;
  Disclosure client(gaussian(3), folder.path() / "a", "run");
  for (int version = 0; version < 3; ++version) {
    EXPECT_TRUE(client.profile(version, 0, kShape, kSums));
  }
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-6);
  EXPECT_FALSE(client.profile(3, 0, kShape, kSums));
  EXPECT_TRUE(client.profile(2, 0, kShape, kSums)) << "what was told may be told again";
  EXPECT_NEAR(Disclosure(gaussian(3), folder.path() / "a", "run").spent().epsilon, 5, 1e-6);
}

TEST(Disclosure, PureReleasesAddUpToTheBudget) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(4);
  options.mode = PrivacyMode::pure;
  Disclosure client(options, folder.path() / "a", "run");
  const SumShape shape = options.shape(2, 1, false);
  for (int version = 0; version < 4; ++version) {
    EXPECT_TRUE(client.profile(version, 0, shape, std::vector<std::int64_t>(shape.size())));
  }
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-9);
}

// Many pure releases are less by rho, but only with a delta, and none is promised.
TEST(Disclosure, ManyPureReleasesStillAddUp) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(60);
  options.mode = PrivacyMode::pure;
  options.epsilon_total = 2;
  Disclosure client(options, folder.path() / "a", "run");
  const SumShape shape = options.shape(2, 2, false);
  const std::vector<std::int64_t> sums(shape.size());
  for (int version = 0; version < 60; ++version) {
    EXPECT_TRUE(client.profile(version, 0, shape, sums));
  }
  EXPECT_NEAR(client.spent().epsilon, 2, 1e-9);
  options.max_releases = 61;
  EXPECT_FALSE(Disclosure(options, folder.path() / "a", "run").profile(60, 0, shape, sums)) << "nothing is left";
}

TEST(Disclosure, UnlabelledSumsAreAnotherRelease) {
  const test::TempFolder folder;
  Disclosure client(gaussian(4), folder.path() / "a", "run");
  const SumShape labelled{.coordinates = 2, .classes = 3};
  EXPECT_EQ(client.profile(0, 0, kShape, kSums)->size(), kShape.size());
  EXPECT_EQ(client.profile(0, 0, labelled, std::vector<std::int64_t>(labelled.size()))->size(), labelled.size());
  EXPECT_EQ(client.spent().releases, 2);
}

TEST(Disclosure, WhatAnotherRunToldIsNoAnswer) {
  const test::TempFolder folder;
  const auto first = Disclosure(gaussian(4), folder.path() / "a", "run-1").profile(0, 0, kShape, kSums);
  Disclosure second(gaussian(4), folder.path() / "a", "run-2");
  EXPECT_NE(second.profile(0, 0, kShape, kSums), first);
  EXPECT_EQ(second.spent().releases, 2) << "both are paid for";
}

TEST(Disclosure, NormsArePaidByTheVersionTheyAreOf) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(3);
  options.bounds = BoundsRule::histogram;
  options.versions_disjoint = true;
  Disclosure client(options, folder.path() / "a", "run");
  EXPECT_TRUE(client.norms(2, NormHistogram{}));
  EXPECT_TRUE(client.profile(2, 0, kShape, kSums));
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-6);
}

TEST(Disclosure, AnalyticCalibrationNeedsLessNoiseForTheSameBudget) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(2);
  options.calibration = Calibration::analytic;
  EXPECT_GT(options.plan().release, gaussian(2).plan().release);
  Disclosure client(options, folder.path() / "a", "run");
  EXPECT_TRUE(client.profile(0, 0, kShape, kSums));
  EXPECT_TRUE(client.profile(1, 0, kShape, kSums));
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-6);
  EXPECT_FALSE(client.profile(2, 0, kShape, kSums));
}

TEST(Disclosure, DisjointVersionsHaveTheWholeBudgetEach) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(3);
  options.versions_disjoint = true;
  EXPECT_NEAR(options.plan().release, 3 * gaussian(3).plan().release, 1e-12);
  Disclosure client(options, folder.path() / "a", "run");
  for (int version = 0; version < 3; ++version) {
    EXPECT_TRUE(client.profile(version, 0, kShape, kSums));
  }
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-6);
  EXPECT_FALSE(client.profile(3, 0, kShape, kSums)) << "max_releases holds all the same";
}

TEST(Disclosure, NormsTakeTheirPartOfTheBudget) {
  const test::TempFolder folder;
  PrivacyOptions options = gaussian(1);
  options.bounds = BoundsRule::histogram;
  Disclosure client(options, folder.path() / "a", "run");
  NormHistogram histogram{};
  histogram[30] = 500;
  const auto told = client.norms(0, histogram);
  ASSERT_TRUE(told);
  EXPECT_NEAR(static_cast<double>((*told)[30]), 500, 200);
  EXPECT_EQ(client.norms(0, histogram), told);
  EXPECT_TRUE(client.profile(0, 0, kShape, kSums));
  EXPECT_NEAR(client.spent().epsilon, 5, 1e-6);
  EXPECT_FALSE(client.profile(1, 0, kShape, kSums));
}

}  // namespace
}  // namespace feroma
