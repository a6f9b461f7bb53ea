#include "feroma/partition/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/data/synthetic.h"

namespace feroma {
namespace {

using Rows = std::vector<std::uint32_t>;

std::set<std::uint32_t> unique(const Rows& samples) { return {samples.begin(), samples.end()}; }

TEST(ShareCount, IsTheNumberOfClientsWhereTheyDivide) { EXPECT_EQ(share_count(60000, 100000, 0), 100000U); }

TEST(ShareCount, IsWhatADivisionIntoSuchSharesWouldGive) {
  EXPECT_EQ(share_count(60000, 20, 300), 200U);
  EXPECT_EQ(share_count(60000, 100000, 300), 200U);
  EXPECT_EQ(share_count(60000, 20, 40000), 1U);
  EXPECT_EQ(share_count(60000, 20, 60000), 1U);
}

TEST(DrawnTestSamples, AreTheSameFractionOfTheTestSplit) {
  EXPECT_EQ(drawn_test_samples(300, 60000, 10000), 50U);
  EXPECT_EQ(drawn_test_samples(60000, 60000, 10000), 10000U);
  EXPECT_EQ(drawn_test_samples(9, 60000, 10000), 2U);  // 1.5 rounds up
  EXPECT_EQ(drawn_test_samples(8, 60000, 10000), 1U);  // 1.33
  EXPECT_EQ(drawn_test_samples(1, 60000, 10000), 1U);  // 0.17, but nobody has nothing
}

RC_GTEST_PROP(SharesProperty, ADrawnShareHasItsSizeAndNoSampleTwice, (std::uint64_t seed)) {
  const auto total = *rc::gen::inRange<std::size_t>(1, 2000);
  const auto samples = *rc::gen::inRange<std::size_t>(1, total + 1);
  const auto client = *rc::gen::inRange<std::size_t>(0, 100000);
  const Rows share = Shares(total, 100000, samples, Rng(seed)).of(client);
  RC_ASSERT(share.size() == samples);
  RC_ASSERT(unique(share).size() == samples);
  RC_ASSERT(*std::max_element(share.begin(), share.end()) < total);
}

RC_GTEST_PROP(SharesProperty, ADrawnShareDoesNotDependOnTheNumberOfClients, (std::uint64_t seed)) {
  const auto client = *rc::gen::inRange<std::size_t>(0, 10);
  RC_ASSERT(Shares(1000, 10, 30, Rng(seed)).of(client) == Shares(1000, 100000, 30, Rng(seed)).of(client));
}

TEST(Shares, DrawnByDifferentClientsDifferAndOverlap) {
  const Shares shares(1000, 50, 500, Rng(1));
  const std::set<std::uint32_t> first = unique(shares.of(0));
  const std::set<std::uint32_t> second = unique(shares.of(1));
  std::vector<std::uint32_t> both;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(), std::back_inserter(both));
  EXPECT_NEAR(static_cast<double>(both.size()), 250, 3 * 7.9);  // hypergeometric, sigma = sqrt(500 / 8) = 7.9
}

// A sample is in Binomial(2000, 0.05) shares: mean 100, variance 95.
TEST(Shares, EverySampleIsDrawnEquallyOften) {
  const Shares shares(1000, 2000, 50, Rng(1));
  std::vector<int> owners(1000);
  for (std::size_t k = 0; k < 2000; ++k) {
    for (const std::uint32_t sample : shares.of(k)) {
      ++owners[sample];
    }
  }
  double chi_square = 0;
  for (const int count : owners) {
    chi_square += (count - 100.0) * (count - 100.0) / 95.0;
  }
  EXPECT_NEAR(chi_square, 999, 3 * 44.7);  // 999 degrees of freedom, sigma = sqrt(2 x 999)
}

TEST(Shares, DividedOnesAreDisjointAndCoverThePool) {
  const Shares shares(1007, 10, 0, Rng(1));
  Rows all;
  for (std::size_t k = 0; k < 10; ++k) {
    const Rows own = shares.of(k);
    EXPECT_EQ(own.size(), k == 9 ? 107U : 100U);
    all.insert(all.end(), own.begin(), own.end());
  }
  EXPECT_EQ(all, Rows(shares.pool().begin(), shares.pool().end()));
  EXPECT_EQ(unique(all).size(), 1007U);
}

TEST(Shares, DependOnTheStream) {
  for (const std::size_t samples : {0U, 30U}) {
    EXPECT_EQ(Shares(1000, 20, samples, Rng(1)).of(3), Shares(1000, 20, samples, Rng(1)).of(3));
    EXPECT_NE(Shares(1000, 20, samples, Rng(1)).of(3), Shares(1000, 20, samples, Rng(2)).of(3));
  }
}

RC_GTEST_PROP(SharesProperty, AnyOfSeesTheWholeShareAndNothingElse, (std::uint64_t seed)) {
  const auto samples = *rc::gen::inRange<std::size_t>(0, 40);
  const Shares shares(100, 5, samples, Rng(seed));
  const std::set<std::uint32_t> own = unique(shares.of(2));
  for (std::uint32_t sample = 0; sample < 100; ++sample) {
    RC_ASSERT(shares.any_of(2, [sample](std::uint32_t s) { return s == sample; }) == own.contains(sample));
  }
}

TEST(Shares, AnyOfStopsAtTheFirst) {
  for (const std::size_t samples : {0U, 30U}) {
    int asked = 0;
    EXPECT_TRUE(Shares(1000, 20, samples, Rng(1)).any_of(3, [&asked](std::uint32_t) { return ++asked == 2; }));
    EXPECT_EQ(asked, 2);
  }
}

TEST(Shares, CannotDrawMoreThanThereIs) {
  EXPECT_EQ(test::error_of([] { Shares(10, 2, 11, Rng(1)); }).code(), ErrorCode::internal);
}

}  // namespace
}  // namespace feroma
