#include "feroma/partition/pool.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "feroma/core/error.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

using Rows = std::vector<std::uint32_t>;

TEST(ClientSlice, GivesTheRemainderToTheLastClient) {
  EXPECT_EQ(client_slice(11, 3, 0), (Slice{0, 3}));
  EXPECT_EQ(client_slice(11, 3, 1), (Slice{3, 3}));
  EXPECT_EQ(client_slice(11, 3, 2), (Slice{6, 5}));
  EXPECT_EQ(test::error_of([] { (void)client_slice(11, 3, 3); }).code(), ErrorCode::internal);
}

// The table of Feroma's sample counts: MNIST has 3000 and CIFAR 2500 samples per client at K = 20.
TEST(ScaledCount, IsThePapersTable) {
  EXPECT_EQ(scaled_count(3000, 5, 20), 10000U);
  EXPECT_EQ(scaled_count(3000, 10, 20), 20000U);
  EXPECT_EQ(scaled_count(3000, 20, 20), 40000U);
  EXPECT_EQ(scaled_count(2500, 5, 20), 8333U);
  EXPECT_EQ(scaled_count(2500, 10, 20), 16666U);
  EXPECT_EQ(scaled_count(2500, 20, 20), 33333U);
}

TEST(ScaledCount, NeverShrinksAPool) {
  EXPECT_EQ(scaled_count(1000, 5, 5), 1000U);
  EXPECT_EQ(scaled_count(1000, 1, 1), 1000U);
  EXPECT_EQ(scaled_count(1000, 5, 6), 1000U);
}

TEST(StageSlice, HasEqualChunksAndAShorterLastOne) {
  EXPECT_EQ(stage_slice(20000, 10, 9), (Slice{18000, 2000}));
  EXPECT_EQ(stage_slice(16666, 10, 0), (Slice{0, 1667}));
  EXPECT_EQ(stage_slice(16666, 10, 8), (Slice{8 * 1667, 1667}));
  EXPECT_EQ(stage_slice(16666, 10, 9), (Slice{9 * 1667, 1663}));
  EXPECT_EQ(stage_slice(8333, 5, 4).count, 1665U);
  EXPECT_EQ(stage_slice(33333, 20, 19).count, 1660U);
  EXPECT_EQ(stage_slice(6, 4, 3).count, 0U) << "chunks of two run out after three stages";
}

RC_GTEST_PROP(ExtendPoolProperty, KeepsEverySampleAndAddsOnlyCopies, ()) {
  const auto size = *rc::gen::inRange<std::size_t>(1, 200);
  const auto extra = *rc::gen::inRange<std::size_t>(0, 500);
  Rows pool(size);
  std::iota(pool.begin(), pool.end(), 1000U);
  const Rows rows = extend_pool(pool, size + extra, Rng(*rc::gen::arbitrary<std::uint64_t>()));
  RC_ASSERT(rows.size() == size + extra);
  const std::set<std::uint32_t> unique(rows.begin(), rows.end());
  RC_ASSERT(Rows(unique.begin(), unique.end()) == pool);
}

// Multiplicity is 1 + Binomial(extra, 1/n): mean 1 + extra/n, variance close to extra/n.
TEST(ExtendPool, DrawsCopiesUniformly) {
  Rows pool(100);
  std::iota(pool.begin(), pool.end(), 0U);
  const Rows rows = extend_pool(pool, 100 + 40000, Rng(7));
  std::map<std::uint32_t, int> counts;
  for (const std::uint32_t row : rows) {
    ++counts[row];
  }
  double chi_square = 0;
  for (const auto& [row, count] : counts) {
    chi_square += (count - 401.0) * (count - 401.0) / 400.0;
  }
  EXPECT_NEAR(chi_square, 99, 3 * 14.1);  // 99 degrees of freedom, sigma = sqrt(2 x 99)
}

TEST(ExtendPool, ShufflesOriginalsAmongCopies) {
  Rows pool(1000);
  std::iota(pool.begin(), pool.end(), 0U);
  const Rows rows = extend_pool(pool, 2000, Rng(7));
  EXPECT_NE(Rows(rows.begin(), rows.begin() + 1000), pool);
  EXPECT_LT(std::set<std::uint32_t>(rows.begin(), rows.begin() + 1000).size(), 900U);
}

TEST(ExtendPool, RefusesToShrinkOrToStartFromNothing) {
  const Rows pool{1, 2};
  EXPECT_EQ(test::error_of([&] { (void)extend_pool(pool, 1, Rng(1)); }).code(), ErrorCode::internal);
  EXPECT_EQ(test::error_of([] { (void)extend_pool({}, 1, Rng(1)); }).code(), ErrorCode::internal);
}

TEST(SplitRows, HoldsOutAFifthRoundedUp) {
  const auto sizes = [](std::size_t rows) {
    const HeldOutSplit split = split_rows(rows, Rng(3));
    return std::pair(split.train.size(), split.held_out.size());
  };
  EXPECT_EQ(sizes(2000), std::pair(std::size_t{1600}, std::size_t{400}));
  EXPECT_EQ(sizes(1667), std::pair(std::size_t{1333}, std::size_t{334}));
  EXPECT_EQ(sizes(2), std::pair(std::size_t{1}, std::size_t{1}));
  EXPECT_EQ(sizes(1), std::pair(std::size_t{1}, std::size_t{0}));
}

TEST(SplitRows, UsesEveryRowOnce) {
  HeldOutSplit split = split_rows(103, Rng(3));
  split.train.insert(split.train.end(), split.held_out.begin(), split.held_out.end());
  std::sort(split.train.begin(), split.train.end());
  Rows all(103);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(split.train, all);
}

std::set<std::uint32_t> sources_at(const Rows& rows, const Rows& sources) {
  std::set<std::uint32_t> found;
  for (const std::uint32_t row : rows) {
    found.insert(sources[row]);
  }
  return found;
}

RC_GTEST_PROP(SplitSourcesProperty, KeepsCopiesTogetherAndUsesEveryRowOnce, ()) {
  const auto sources = *rc::gen::nonEmpty(rc::gen::container<Rows>(rc::gen::inRange<std::uint32_t>(0, 40)));
  const HeldOutSplit split = split_sources(sources, Rng(*rc::gen::arbitrary<std::uint64_t>()));
  const std::set<std::uint32_t> train = sources_at(split.train, sources);
  const std::set<std::uint32_t> held_out = sources_at(split.held_out, sources);
  for (const std::uint32_t source : held_out) {
    RC_ASSERT(!train.contains(source));
  }
  std::set<std::uint32_t> rows(split.train.begin(), split.train.end());
  rows.insert(split.held_out.begin(), split.held_out.end());
  RC_ASSERT(rows.size() == sources.size());
  RC_ASSERT(split.train.size() + split.held_out.size() == sources.size());
  RC_ASSERT(!train.empty());
  RC_ASSERT(held_out.empty() == (train.size() + held_out.size() == 1));
}

TEST(SplitSources, ReachesAFifthExactlyWhereSinglesExist) {
  // 100 sources once, 100 sources four times: 500 rows, of which 100 are held out.
  Rows sources;
  for (std::uint32_t i = 0; i < 100; ++i) {
    sources.push_back(i);
    sources.insert(sources.end(), 4, 1000 + i);
  }
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(split_sources(sources, Rng(seed)).held_out.size(), 100U);
  }
}

TEST(SplitSources, TakesTheNearestSizeWhereNothingFits) {
  const auto held_out = [](std::uint32_t number, std::size_t copies) {
    Rows sources;
    for (std::uint32_t i = 0; i < number; ++i) {
      sources.insert(sources.end(), copies, i);
    }
    return split_sources(sources, Rng(1)).held_out.size();
  };
  EXPECT_EQ(held_out(7, 3), 6U);  // 21 rows, a fifth is 5: 6 is nearer than 3
  EXPECT_EQ(held_out(8, 3), 6U);  // 24 rows, a fifth is 5
  EXPECT_EQ(held_out(6, 3), 3U);  // 18 rows, a fifth is 4: 3 is nearer than 6
  EXPECT_EQ(held_out(2, 5), 5U);  // both sides get something
  EXPECT_EQ(held_out(1, 9), 0U);  // a single source is trained on
}

TEST(SplitSources, DependsOnTheStream) {
  Rows sources(100);
  std::iota(sources.begin(), sources.end(), 0U);
  EXPECT_EQ(split_sources(sources, Rng(1)).held_out, split_sources(sources, Rng(1)).held_out);
  EXPECT_NE(split_sources(sources, Rng(1)).held_out, split_sources(sources, Rng(2)).held_out);
}

}  // namespace
}  // namespace feroma
