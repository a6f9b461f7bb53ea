#include <gtest/gtest.h>

#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::all_sources;
using test::client;
using test::kShifts;
using test::make_dataset;
using test::mnist_sized;
using test::scenario;
using test::sources_of;
using test::unique;

TEST(FederationSizes, AreTwoThousandPerStageForMnist) {
  for (const Shift shift : {Shift::covariate, Shift::concept_label, Shift::concept_feature}) {
    for (const int drifts : {5, 10, 20}) {
      const Federation federation(mnist_sized(), scenario(shift, Generator::feroma, drifts));
      for (const Round round : {1, 7, 20}) {
        const ClientShard shard = federation.shard(client(3), round);
        EXPECT_EQ(shard.train.size(), 1600U);
        EXPECT_EQ(shard.held_out.size(), 400U);
      }
    }
  }
}

TEST(FederationSizes, AreTheSameInCleanForEveryShift) {
  for (const Shift shift : kShifts) {
    for (const int drifts : {5, 10, 20}) {
      const Federation federation(mnist_sized(), scenario(shift, Generator::clean, drifts));
      for (const Round round : {1, 7, 20}) {
        const ClientShard shard = federation.shard(client(3), round);
        EXPECT_EQ(shard.train.size() + shard.held_out.size(), 2000U);
        EXPECT_NEAR(static_cast<double>(shard.held_out.size()), 400, 1);
      }
    }
  }
}

TEST(FederationSizes, AreThoseOfCifarWithAShorterLastStage) {
  const auto cifar_sized = make_dataset(50000, 10000, {3, 2, 2});
  const Federation federation(cifar_sized, scenario(Shift::covariate, Generator::feroma, 10));
  for (Round round = 1; round <= 20; ++round) {
    const ClientShard shard = federation.shard(client(19), round);
    const std::size_t rows = shard.window == 9 ? 1663 : 1667;
    EXPECT_EQ(shard.train.size() + shard.held_out.size(), rows);
    EXPECT_EQ(shard.held_out.size(), shard.window == 9 ? 333U : 334U);
  }
}

TEST(FederationSizes, AreNotScaledBelowThirtyClientStages) {
  const Federation federation(make_dataset(1000, 100), scenario(Shift::covariate, Generator::feroma, 5, 5));
  std::multiset<std::uint32_t> seen;
  for (const Round round : {1, 4, 8, 12, 16}) {
    const std::multiset<std::uint32_t> rows = all_sources(federation.shard(client(0), round));
    EXPECT_EQ(rows.size(), 40U);
    seen.insert(rows.begin(), rows.end());
  }
  EXPECT_EQ(unique(seen).size(), 200U) << "no sample occurs twice";
}

// P(Y) keeps 2 of 10 classes; in the paper's data the stage grows with the number of stages.
TEST(FederationSizes, OfThePapersLabelPriorGrowWithTheStages) {
  const auto rows = [](int drifts) {
    const Federation federation(mnist_sized(), scenario(Shift::label_prior, Generator::feroma, drifts));
    return static_cast<double>(all_sources(federation.shard(client(3), 20)).size());
  };
  EXPECT_NEAR(rows(5), 2000, 200);
  EXPECT_NEAR(rows(10), 4000, 400);
  EXPECT_NEAR(rows(20), 8000, 800);
}

// A 2000-row stage of 20 has about 1460 unique pictures; about 40 % of the held-out ones are also trained on.
TEST(FederationSizes, OfThePapersDataIncludeItsDuplicates) {
  const Federation federation(mnist_sized(), scenario(Shift::covariate, Generator::feroma, 20));
  double unique_pictures = 0;
  double leaked = 0;
  for (std::uint32_t k = 0; k < 20; ++k) {
    const ClientShard shard = federation.shard(client(k), 5);
    unique_pictures += static_cast<double>(unique(all_sources(shard)).size()) / 20;
    const std::set<std::uint32_t> train = unique(sources_of(shard.train));
    for (const std::uint32_t source : sources_of(shard.held_out)) {
      leaked += train.contains(source) ? 1.0 / (20 * 400) : 0;
    }
  }
  EXPECT_NEAR(unique_pictures, 1460, 15);
  EXPECT_NEAR(leaked, 0.40, 0.03);
}

}  // namespace
}  // namespace feroma
