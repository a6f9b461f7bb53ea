#include "feroma/metrics/rank_correlation.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/expect_error.h"

namespace feroma {
namespace {

using Values = std::vector<double>;

TEST(RankCorrelation, SeesOrderAndNotScale) {
  EXPECT_DOUBLE_EQ(*rank_correlation(Values{1, 2, 3, 4}, Values{1, 10, 100, 1e6}), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation(Values{1, 2, 3, 4}, Values{9, 8, 1, 0}), -1);
}

// Differences of ranks 0, 1, 1, 0: 1 - 6 * 2 / (4 * 15).
TEST(RankCorrelation, OfOneExchangeIsTheTextbooks) {
  EXPECT_DOUBLE_EQ(*rank_correlation(Values{1, 2, 3, 4}, Values{1, 3, 2, 4}), 0.8);
}

// Ranks 0, 1.5, 1.5, 3 and 0, 1, 2, 3, both less 1.5: 4.5 / sqrt(4.5 * 5).
TEST(RankCorrelation, EqualValuesShareTheirMeanRank) {
  EXPECT_NEAR(*rank_correlation(Values{1, 2, 2, 3}, Values{1, 2, 3, 4}), 0.9486832980505138, 1e-15);
}

TEST(RankCorrelation, IsAbsentWhereNothingVaries) {
  EXPECT_FALSE(rank_correlation({}, {}));
  EXPECT_FALSE(rank_correlation(Values{1}, Values{1}));
  EXPECT_FALSE(rank_correlation(Values{1, 1, 1}, Values{1, 2, 3}));
}

TEST(RankCorrelation, NeedsPairs) {
  expect_error(ErrorCode::internal, "2 and 1 values", [] { return rank_correlation(Values{1, 2}, Values{1}); });
}

}  // namespace
}  // namespace feroma
