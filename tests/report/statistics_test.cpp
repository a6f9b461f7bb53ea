#include "feroma/report/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace feroma {
namespace {

TEST(MeanDeviation, IsMeanAndSampleDeviation) {
  // 2 4 4 4 5 5 7 9: mean 5, squares 32, over n - 1 = 7.
  const auto spread = mean_and_deviation(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  ASSERT_TRUE(spread.has_value());
  EXPECT_DOUBLE_EQ(spread->mean, 5);
  EXPECT_NEAR(*spread->deviation, 2.13809, 1e-5);
  EXPECT_EQ(spread->count, 8U);
}

TEST(MeanDeviation, OfOneValueHasNoDeviationAndOfNoneNothing) {
  EXPECT_FALSE(mean_and_deviation(std::vector<double>{3})->deviation.has_value());
  EXPECT_FALSE(mean_and_deviation({}).has_value());
}

TEST(Ranks, AreFromTheBestAndTiesShareTheirMean) {
  EXPECT_EQ(ranks_from_best(std::vector<double>{70, 90, 80}), (std::vector<double>{3, 1, 2}));
  EXPECT_EQ(ranks_from_best(std::vector<double>{5, 9, 5, 5}), (std::vector<double>{3, 1, 3, 3}));
}

TEST(Ranks, RoundingDoesNotPartEqualValues) {
  const double sum = 0.1 + 0.2;  // 0.30000000000000004
  EXPECT_EQ(ranks_from_best(std::vector<double>{sum, 0.3, 0.5}), (std::vector<double>{2.5, 2.5, 1}));
  EXPECT_EQ(ranks_from_best(std::vector<double>{70.0001, 70}), (std::vector<double>{1, 2})) << "one test sample more";
  EXPECT_TRUE(same_but_for_rounding(sum, 0.3));
  EXPECT_FALSE(same_but_for_rounding(70.0001, 70));
}

TEST(Wilcoxon, FiveEqualSignsGiveOneSixteenth) {
  // All of five differences positive: 2 of 2^5 patterns are as extreme.
  const auto test = wilcoxon_signed_rank(std::vector<double>{2, 4, 6, 8, 10}, std::vector<double>{1, 2, 3, 4, 5});
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->pairs, 5U);
  EXPECT_DOUBLE_EQ(test->statistic, 0);
  EXPECT_DOUBLE_EQ(test->p, 0.0625);
  EXPECT_TRUE(test->exact);
}

TEST(Wilcoxon, AgreesWithTheDepressionExampleOfRsManual) {
  // Hollander and Wolfe's depression scores, the example of R's wilcox.test(x, y, paired = TRUE): V = 40, and one-sided
  // p = 0.01953; so the smaller sum is 45 - 40 = 5 and the two-sided p 0.03906 = 20/512.
  const std::vector<double> before{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30};
  const std::vector<double> after{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29};
  const auto test = wilcoxon_signed_rank(before, after);
  ASSERT_TRUE(test.has_value());
  EXPECT_DOUBLE_EQ(test->statistic, 5);
  EXPECT_DOUBLE_EQ(test->p, 20.0 / 512);
  EXPECT_DOUBLE_EQ(wilcoxon_signed_rank(after, before)->p, test->p);
}

TEST(Wilcoxon, CountsTiesExactlyAndLeavesOutEqualPairs) {
  // Differences 1 1 1 -2 0: ranks 2 2 2 4, the smaller sum 4. Of the 16 patterns of {2,2,2,4}, positive sums of at most
  // 4: {} , 2 x3, 2+2 x3, {4}: 8. So p = 2 * 8/16 = 1.
  const auto test = wilcoxon_signed_rank(std::vector<double>{1, 1, 1, -2, 0}, std::vector<double>{0, 0, 0, 0, 0});
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->pairs, 4U);
  EXPECT_DOUBLE_EQ(test->statistic, 4);
  EXPECT_DOUBLE_EQ(test->p, 1);
  EXPECT_FALSE(wilcoxon_signed_rank(std::vector<double>{1, 2}, std::vector<double>{1, 2}).has_value());
}

TEST(Wilcoxon, RoundingNeitherPartsTiesNorMakesDifferences) {
  // Differences 19.9 19.9 19.9 -19.9, of which two come out as 19.89999999999999: ranks 2.5 each, the smaller sum 2.5.
  // Of the 16 patterns the empty one and four of one rank have at most that: p = 2 * 5/16.
  const std::vector<double> a{90.1, 91.3, 64.3, 13.4};
  const std::vector<double> b{70.2, 71.4, 44.4, 33.3};
  const auto test = wilcoxon_signed_rank(a, b);
  ASSERT_TRUE(test.has_value());
  EXPECT_DOUBLE_EQ(test->statistic, 2.5);
  EXPECT_DOUBLE_EQ(test->p, 10.0 / 16);
  EXPECT_FALSE(wilcoxon_signed_rank(std::vector<double>{0.1 + 0.2}, std::vector<double>{0.3}).has_value());
}

TEST(Wilcoxon, BeyondTwentyFivePairsIsNormal) {
  // Differences 1..30 with every third negative: the negative ranks 3 + 6 + ... + 30 sum to 165; mean 232.5, variance
  // 30*31*61/24 = 2363.75, z = (232.5 - 165 - 0.5) / 48.618 = 1.3781, two-sided p = 0.1682.
  std::vector<double> a(30);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = (i + 1) % 3 == 0 ? -static_cast<double>(i + 1) : static_cast<double>(i + 1);
  }
  const auto test = wilcoxon_signed_rank(a, std::vector<double>(30, 0.0));
  ASSERT_TRUE(test.has_value());
  EXPECT_FALSE(test->exact);
  EXPECT_DOUBLE_EQ(test->statistic, 165);
  EXPECT_NEAR(test->p, 0.1682, 5e-4);
}

TEST(PairedT, AgreesWithStudentsSleepData) {
  // Student (1908), R's `sleep`: t = -4.0621 on 9 degrees, p = 0.002833.
  const std::vector<double> first{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const std::vector<double> second{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const auto test = paired_t(first, second);
  ASSERT_TRUE(test.has_value());
  EXPECT_NEAR(test->statistic, -4.0621, 5e-5);
  EXPECT_NEAR(test->p, 0.002833, 5e-7);
  EXPECT_FALSE(paired_t(std::vector<double>{1}, std::vector<double>{2}).has_value());
  EXPECT_FALSE(paired_t(std::vector<double>{1, 2}, std::vector<double>{0, 1}).has_value());
}

TEST(PairedT, DifferencesThatRoundingAlonePartsDoNotVary) {
  // 19.9 each; computed, they are 4e-15 apart, which would make t 1e16.
  const std::vector<double> a{90.1, 91.3, 64.3, 33.3};
  const std::vector<double> b{70.2, 71.4, 44.4, 13.4};
  EXPECT_FALSE(paired_t(a, b).has_value());
  EXPECT_TRUE(paired_t(a, std::vector<double>{70.2, 71.4, 44.4, 13.4001}).has_value()) << "one test sample more";
}

TEST(Tails, AgreeWithPrintedTables) {
  EXPECT_NEAR(chi_square_tail(3.841459, 1), 0.05, 1e-7);  // 95 % points of the usual tables
  EXPECT_NEAR(chi_square_tail(18.307038, 10), 0.05, 1e-7);
  EXPECT_NEAR(chi_square_tail(2, 2), 0.36787944, 1e-8);  // exp(-1)
  EXPECT_DOUBLE_EQ(chi_square_tail(0, 3), 1);
  EXPECT_NEAR(student_t_two_sided(2.776445, 4), 0.05, 1e-7);
  EXPECT_NEAR(student_t_two_sided(-12.706205, 1), 0.05, 1e-7);
  EXPECT_DOUBLE_EQ(student_t_two_sided(0, 7), 1);
}

TEST(Holm, StepsDownAndNeverFalls) {
  // 0.01*3, then max(0.03, 0.02*2), then max(0.04, 0.03).
  const std::vector<double> adjusted = holm(std::vector<double>{0.03, 0.01, 0.02});
  EXPECT_NEAR(adjusted[1], 0.03, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.04, 1e-12);
  EXPECT_NEAR(adjusted[0], 0.04, 1e-12);
  EXPECT_DOUBLE_EQ(holm(std::vector<double>{0.9, 0.8})[0], 1);
}

TEST(Friedman, AgreesWithTheRoundingTimesOfRsManual) {
  // Hollander and Wolfe's rounding times, the example of R's friedman.test: chi-square = 11.143, df = 2, p = 0.003805.
  const std::vector<std::vector<double>> times{
      {5.40, 5.50, 5.55}, {5.85, 5.70, 5.75}, {5.20, 5.60, 5.50}, {5.55, 5.50, 5.40}, {5.90, 5.85, 5.70},
      {5.45, 5.55, 5.60}, {5.40, 5.40, 5.35}, {5.45, 5.50, 5.35}, {5.25, 5.15, 5.00}, {5.85, 5.80, 5.70},
      {5.25, 5.20, 5.10}, {5.65, 5.55, 5.45}, {5.60, 5.35, 5.45}, {5.05, 5.00, 4.95}, {5.50, 5.50, 5.40},
      {5.45, 5.55, 5.50}, {5.55, 5.55, 5.35}, {5.45, 5.50, 5.55}, {5.50, 5.45, 5.25}, {5.65, 5.60, 5.40},
      {5.70, 5.65, 5.55}, {6.30, 6.30, 6.25}};
  const auto test = friedman(times);
  ASSERT_TRUE(test.has_value());
  EXPECT_EQ(test->blocks, 22U);
  EXPECT_NEAR(test->chi_square, 11.143, 5e-4);
  EXPECT_NEAR(test->p, 0.003805, 5e-7);
  EXPECT_NEAR(std::accumulate(test->mean_ranks.begin(), test->mean_ranks.end(), 0.0), 6, 1e-12);
  EXPECT_LT(test->mean_ranks[0], test->mean_ranks[2]) << "larger is better";
}

TEST(Friedman, NeedsTwoBlocksAndBearsBlocksThatAreAllTies) {
  EXPECT_FALSE(friedman({{1, 2, 3}}).has_value());
  EXPECT_FALSE(friedman({{1}, {2}}).has_value());
  const auto ties = friedman({{1, 1}, {2, 2}});
  EXPECT_DOUBLE_EQ(ties->p, 1);
}

TEST(Friedman, RoundingDecidesNoRank) {
  const double sum = 0.1 + 0.2;
  const auto ties = friedman({{sum, 0.3}, {sum, 0.3}});
  ASSERT_TRUE(ties.has_value());
  EXPECT_EQ(ties->mean_ranks, (std::vector<double>{1.5, 1.5}));
  EXPECT_DOUBLE_EQ(ties->p, 1);
  // Ranks 1 2 3, 2 3 1 and 3 1 2: thirds of them would add to 2 or to 1.9999999999999998.
  const auto turns = friedman({{3, 2, 1}, {2, 1, 3}, {1, 3, 2}});
  ASSERT_TRUE(turns.has_value());
  EXPECT_EQ(turns->mean_ranks, (std::vector<double>{2, 2, 2}));
}

TEST(Nemenyi, AgreesWithDemsarsTable) {
  // Demsar (2006), table 5(a): q at 0.05 for 2 to 10 methods; CD = q sqrt(k(k+1)/6N), here with k(k+1) = 6N.
  const std::array<double, 9> q{1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164};
  for (std::size_t k = 2; k <= 10; ++k) {
    const double factor = std::sqrt(static_cast<double>(k * (k + 1)) / 6);
    EXPECT_NEAR(critical_difference(k, 1) / factor, q[k - 2], 1e-3) << k;  // the table is rough in its last digit
  }
  // The worked example there, 4 methods on 14 data sets: q 2.291 at 0.10; and CD = 2.569 sqrt(20/84) = 1.25 at 0.05.
  EXPECT_NEAR(critical_difference(4, 14, 0.10), 2.291 * std::sqrt(20.0 / 84), 6e-4);
  EXPECT_NEAR(critical_difference(4, 14), 1.25, 5e-3);
}

}  // namespace
}  // namespace feroma
