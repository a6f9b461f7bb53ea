#include "src/bench/pairs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/expect_error.h"

namespace feroma::detail {
namespace {

/// Classes of one coordinate each, spread 1.
Profile clouds(std::vector<float> means, std::vector<float> shares) {
  Profile profile;
  for (const float mean : means) {
    profile.per_class.push_back({{mean}, {1}});
  }
  profile.prior = std::move(shares);
  return profile;
}

TEST(ClassWasserstein, IsTheMeanOverClassesWhereSharesAreEqual) {
  const Profile a = clouds({0, 10}, {0.25F, 0.75F});
  const Profile b = clouds({2, 10}, {0.25F, 0.75F});
  EXPECT_DOUBLE_EQ(class_wasserstein2(a, b), 1);  // a quarter moves by 2: 0.25 * 4
  EXPECT_EQ(class_wasserstein2(a, a), 0);
}

// The marginals are equal; only the labels are exchanged.
TEST(ClassWasserstein, SeesExchangedLabels) {
  EXPECT_DOUBLE_EQ(class_wasserstein2(clouds({0, 3}, {0.5F, 0.5F}), clouds({3, 0}, {0.5F, 0.5F})), 3);
}

TEST(ClassWasserstein, WhatIsTooMuchMovesToWhatIsMissing) {
  const Profile a = clouds({0, 4, 7}, {0.75F, 0.25F, 0});
  const Profile b = clouds({0, 4, 7}, {0.25F, 0.75F, 0});
  EXPECT_DOUBLE_EQ(class_wasserstein2(a, b), std::sqrt(0.5 * 16));
  // Half of the first class goes to the second, half to the third.
  const Profile c = clouds({0, 4, 7}, {0, 0.5F, 0.5F});
  EXPECT_DOUBLE_EQ(class_wasserstein2(clouds({0, 4, 7}, {1, 0, 0}), c), std::sqrt(0.5 * 16 + 0.5 * 49));
}

TEST(ClassWasserstein, IsTheSameBothWays) {
  const Profile a = clouds({0, 4, 7}, {0.5F, 0.25F, 0.25F});
  const Profile b = clouds({1, -4, 2}, {0.125F, 0.5F, 0.375F});
  EXPECT_DOUBLE_EQ(class_wasserstein2(a, b), class_wasserstein2(b, a));
}

TEST(WithOneHot, AppendsTheMomentsOfLabels) {
  const std::vector<float> shares{0.2F, 0.8F};
  const Moments moments = with_one_hot({{5}, {6}}, shares);
  EXPECT_EQ(moments.mean, (std::vector<float>{5, 0.2F, 0.8F}));
  EXPECT_EQ(moments.std[0], 6);
  EXPECT_NEAR(moments.std[1], 0.4, 1e-6);
  EXPECT_NEAR(moments.std[2], 0.4, 1e-6);
}

TEST(Extent, IsWhatItSays) {
  const Extent extent = extent_of(std::vector<double>{1, 5, 3});
  EXPECT_EQ(extent.max, 5);
  EXPECT_EQ(extent.min, 1);
  EXPECT_DOUBLE_EQ(extent.mean, 3);
  EXPECT_DOUBLE_EQ(extent.std, std::sqrt(8.0 / 3));
  expect_error(ErrorCode::internal, "at least one value", [] { return extent_of({}).max; });
}

// Items 0 and 1 are alike. Both other pairs are farther apart than they are; by the reference only one is.
TEST(ScorePairs, CountsEveryPairOnce) {
  Matrix distances(3, 3);
  distances.values = {0, 2, 5, 9, 0, 3, 9, 9, 0};
  Matrix reference(3, 3);
  reference.values = {0, 2, 1, 0, 0, 3, 0, 0, 0};
  const PairScores scores = score_pairs(distances, reference, std::vector<int>{7, 7, 8});
  EXPECT_EQ(scores.pairs, 3U);
  EXPECT_EQ(scores.same, 1U);
  EXPECT_EQ(scores.auc, 1);
  EXPECT_EQ(scores.reference_auc, 0.5);
  EXPECT_DOUBLE_EQ(*scores.rank, -0.5);  // ranks 0, 2, 1 and 1, 0, 2
  EXPECT_FALSE(score_pairs(distances, reference, std::vector<int>{1, 2, 3}).auc);
}

TEST(NearestIsOwn, LooksAtTheListedRowsOnly) {
  Matrix distances(2, 2);
  distances.values = {1, 2, 1, 2};
  EXPECT_EQ(nearest_is_own(distances, std::vector<std::size_t>{0}), 1);
  EXPECT_EQ(nearest_is_own(distances, std::vector<std::size_t>{1}), 0);
  EXPECT_EQ(nearest_is_own(distances, std::vector<std::size_t>{0, 1}), 0.5);
  EXPECT_EQ(nearest_is_own(distances, {}), 0);
}

}  // namespace
}  // namespace feroma::detail
