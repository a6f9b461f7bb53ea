#include "feroma/partition/partitioners.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "feroma/partition/quantity.h"
#include "feroma/partition/ranking.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

using test::error_of;
using test::make_dataset;

std::set<std::int32_t> classes_of(const Samples& samples, const std::vector<std::uint32_t>& list) {
  std::set<std::int32_t> classes;
  for (const std::uint32_t source : list) {
    classes.insert(samples.labels[source]);
  }
  return classes;
}

std::size_t total(const Lists& lists) {
  return std::accumulate(lists.begin(), lists.end(), std::size_t{0},
                         [](std::size_t sum, const auto& list) { return sum + list.size(); });
}

std::set<std::uint32_t> covered(const Lists& lists) {
  std::set<std::uint32_t> all;
  for (const auto& list : lists) {
    all.insert(list.begin(), list.end());
  }
  return all;
}

TEST(Ranking, IsTheSoftmaxOfTheRank) {
  const std::vector<double> four = ranking(4, 1);
  EXPECT_NEAR(four[0], 0.644, 0.0005);
  EXPECT_NEAR(four[1], 0.237, 0.0005);
  EXPECT_NEAR(four[2], 0.087, 0.0005);
  EXPECT_NEAR(four[3], 0.032, 0.0005);
  EXPECT_EQ(ranking(4, 0), std::vector<double>(4, 0.25));
}

TEST(Ranking, PicksWithItsProbabilities) {
  const std::vector<double> probabilities = ranking(4, 1);
  std::vector<double> counts(4);
  Rng rng(1);
  for (int i = 0; i < 100000; ++i) {
    ++counts[pick(probabilities, rng)];
  }
  double chi_square = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const double expected = 100000 * probabilities[i];
    chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 16.3);  // 0.1 % of chi-square with 3 degrees of freedom
}

// Dir(a, .., a) over K: mean 1/K, variance (1/K)(1 - 1/K) / (K a + 1).
TEST(Dirichlet, HasItsMoments) {
  for (const double alpha : {0.05, 0.5, 1.0, 5.0}) {
    constexpr int kDraws = 20000;
    Rng rng(3);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const std::vector<double> p = draw_dirichlet(alpha, 5, rng);
      ASSERT_NEAR(std::accumulate(p.begin(), p.end(), 0.0), 1, 1e-12);
      sum += p[2];
      squares += p[2] * p[2];
    }
    const double variance = 0.2 * 0.8 / (5 * alpha + 1);
    EXPECT_NEAR(sum / kDraws, 0.2, 4 * std::sqrt(variance / kDraws)) << alpha;
    EXPECT_NEAR(squares / kDraws - 0.04, variance, 0.05 * variance + 0.002) << alpha;
  }
}

TEST(Dirichlet, DividesEveryClassAndKeepsTheMinimum) {
  const auto dataset = make_dataset(7000, 3000, {1, 2, 2}, 6);
  for (const double alpha : {0.4, 0.8}) {
    const SplitLists lists = dirichlet_lists(*dataset, 10, alpha, Rng(1));
    EXPECT_EQ(total(lists.train), 7000U);
    EXPECT_EQ(covered(lists.train).size(), 7000U);
    EXPECT_EQ(covered(lists.test).size(), 3000U);
    for (std::size_t k = 0; k < 10; ++k) {
      EXPECT_GE(lists.train[k].size(), kDirichletMinimum);
      // Proportions are the same, so each class share agrees up to rounding.
      for (std::int32_t c = 0; c < 6; ++c) {
        const auto count = [c](const Samples& samples, const std::vector<std::uint32_t>& list) {
          return static_cast<double>(std::count_if(list.begin(), list.end(),
                                                   [&](std::uint32_t source) { return samples.labels[source] == c; }));
        };
        EXPECT_NEAR(count(dataset->train, lists.train[k]) / 7000, count(dataset->test, lists.test[k]) / 3000, 0.001);
      }
    }
  }
}

TEST(Dirichlet, IsNearlyUniformForLargeAlphaAndNearlyPureForSmall) {
  const auto dataset = make_dataset(6000, 3000);
  for (const auto& list : dirichlet_lists(*dataset, 5, 10000, Rng(1)).train) {
    EXPECT_NEAR(static_cast<double>(list.size()), 1200, 60);
  }
  Rng rng(2);
  double largest = 0;
  for (int i = 0; i < 100; ++i) {
    const std::vector<double> p = draw_dirichlet(0.001, 5, rng);
    largest += *std::max_element(p.begin(), p.end()) / 100;
  }
  EXPECT_GT(largest, 0.99);
}

TEST(Dirichlet, RefusesWhatCannotGiveEveryoneSamples) {
  const auto dataset = make_dataset(400, 100);
  const Error error = error_of([&] { (void)dirichlet_lists(*dataset, 20, 0.001, Rng(1)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_EQ(std::string(error.what()).find("scenario.clients must be so few, or scenario.alpha so large"), 0U)
      << error.what();
}

TEST(UnequalSizes, SumToTheTotalAndSpreadWithTheDeviation) {
  double before = 0;
  for (const double std : {0.1, 0.3, 1.0, 2.0}) {
    double variation = 0;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const std::vector<std::size_t> sizes = unequal_sizes(60000, 20, std, Rng(seed));
      ASSERT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), 60000U);
      double squares = 0;
      for (const std::size_t size : sizes) {
        ASSERT_GT(size, 0U);
        squares += (static_cast<double>(size) - 3000) * (static_cast<double>(size) - 3000) / 20;
      }
      variation += std::sqrt(squares) / 3000 / 100;
    }
    EXPECT_GT(variation, before);
    before = variation;
  }
  EXPECT_NEAR(before, 0.577, 0.05) << "a wide normal cut to [0, 1] is nearly uniform";
}

TEST(Pathological, GivesEachClientItsClassesInBothSplits) {
  const auto dataset = make_dataset(6000, 1000);
  const SplitLists lists = pathological_lists(*dataset, 20, 2, Rng(1));
  EXPECT_EQ(total(lists.train), 6000U);
  EXPECT_EQ(covered(lists.train).size(), 6000U);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_EQ(classes_of(dataset->train, lists.train[k]).size(), 2U);
    EXPECT_EQ(classes_of(dataset->train, lists.train[k]), classes_of(dataset->test, lists.test[k]));
  }
}

TEST(Shard, CutsTheSortedDataIntoEqualPieces) {
  const auto dataset = make_dataset(6000, 1000);
  const SplitLists lists = shard_lists(*dataset, 20, 2, Rng(1));
  EXPECT_EQ(covered(lists.train).size(), 6000U);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_EQ(lists.train[k].size(), 300U);
    EXPECT_LE(classes_of(dataset->train, lists.train[k]).size(), 2U);
    EXPECT_EQ(classes_of(dataset->train, lists.train[k]), classes_of(dataset->test, lists.test[k]));
  }
}

Dataset with_owners(int train_owners, int test_owners, int first_test_owner) {
  Dataset dataset = *make_dataset(600, 300);
  for (int i = 0; i < 600; ++i) {
    dataset.train.owners.push_back(i % train_owners);
  }
  for (int i = 0; i < 300; ++i) {
    dataset.test.owners.push_back(first_test_owner + i % test_owners);
  }
  return dataset;
}

TEST(Owners, AreDealtToClientsInTurn) {
  const Dataset dataset = with_owners(6, 6, 0);
  EXPECT_TRUE(same_owners(dataset));
  const SplitLists lists = owner_lists(dataset, 4, 4);
  EXPECT_EQ(covered(lists.train).size(), 600U);
  for (std::size_t k = 0; k < 4; ++k) {
    for (const std::uint32_t source : lists.train[k]) {
      EXPECT_EQ(static_cast<std::size_t>(dataset.train.owners[source]) % 4, k);
    }
    for (const std::uint32_t source : lists.test[k]) {
      EXPECT_EQ(static_cast<std::size_t>(dataset.test.owners[source]) % 4, k);
    }
  }
}

TEST(Owners, OfTheTestSplitMayBeOthers) {
  const Dataset dataset = with_owners(6, 3, 6);
  EXPECT_FALSE(same_owners(dataset));
  const SplitLists lists = owner_lists(dataset, 6, 3);
  EXPECT_EQ(lists.test[0].size(), 100U);
  EXPECT_TRUE(lists.test[3].empty());
  EXPECT_EQ(error_of([&] { (void)owner_lists(dataset, 6, 4); }).code(), ErrorCode::invalid_config);
  EXPECT_EQ(error_of([&] { (void)owner_lists(dataset, 7, 3); }).code(), ErrorCode::invalid_config);
  EXPECT_EQ(error_of([&] { (void)owner_lists(*make_dataset(60, 60), 2, 2); }).code(), ErrorCode::invalid_config);
}

TEST(LabelSkew, PrefersWhatIsPlentifulMoreWithALargerExponent) {
  const std::vector<std::size_t> counts{600, 500, 500, 0};
  const std::vector<double> none = acceptance(counts, 0);
  EXPECT_EQ(none, std::vector<double>(4, 0.25));
  const std::vector<double> some = acceptance(counts, 0.5);
  EXPECT_GT(some[0], some[1]);
  EXPECT_EQ(some[1], some[2]);
  EXPECT_NEAR(some[0] / some[1], std::exp(std::sqrt(600) - std::sqrt(500)), 1e-9);
  EXPECT_NEAR(acceptance(counts, 3)[0], 1, 1e-12);
}

TEST(LabelSkew, ClientsHaveTheirSizesAndNothingInCommon) {
  const auto dataset = make_dataset(6000, 1200);
  SkewParameters parameters;
  for (const Range range : {Range{0, 0.5}, Range{0.5, 1}, Range{1, 3}}) {
    parameters.label_skew = range;
    const Sizes sizes{std::vector<std::size_t>(20, 300), std::vector<std::size_t>(20, 60)};
    const SplitLists lists = skewed_lists(*dataset, sizes, parameters, Rng(1));
    std::set<std::uint32_t> before;
    double classes = 0;
    for (std::size_t k = 0; k < 20; ++k) {
      classes += static_cast<double>(classes_of(dataset->train, lists.train[k]).size()) / 20;
      EXPECT_EQ(lists.train[k].size(), 300U);
      EXPECT_EQ(lists.test[k].size(), 60U);
      for (const std::uint32_t source : std::set<std::uint32_t>(lists.train[k].begin(), lists.train[k].end())) {
        ASSERT_TRUE(before.insert(source).second);
      }
    }
    // Where counts are equal, as at the beginning, nothing is preferred; later one class nearly always is.
    EXPECT_EQ(classes < 4, range.low == 1) << classes;
  }
}

TEST(RankedLists, FollowTheRankingAndReverseItForTests) {
  const auto dataset = make_dataset(60000, 10000);
  SkewParameters parameters;
  parameters.label_skew = {0.5, 0.5};
  const Sizes sizes{{3000}, {500}};
  const SplitLists lists = ranked_lists(*dataset, sizes, parameters, TestOrder::reversed, Rng(1));
  const std::vector<double> ranks = ranking(10, 0.5);
  const auto order = Rng(1).derive("label_order", 0).permutation(10);
  std::vector<double> train(10);
  std::vector<double> test(10);
  for (const std::uint32_t source : lists.train[0]) {
    ++train[static_cast<std::size_t>(dataset->train.labels[source])];
  }
  for (const std::uint32_t source : lists.test[0]) {
    ++test[static_cast<std::size_t>(dataset->test.labels[source])];
  }
  for (std::size_t rank = 0; rank < 10; ++rank) {
    EXPECT_NEAR(train[order[rank]], 3000 * ranks[rank], 4 * std::sqrt(3000 * ranks[rank]) + 1);
    EXPECT_NEAR(test[order[9 - rank]], 500 * ranks[rank], 4 * std::sqrt(500 * ranks[rank]) + 2);
  }
}

}  // namespace
}  // namespace feroma
