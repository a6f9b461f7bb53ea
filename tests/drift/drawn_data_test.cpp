// Clients that draw their data instead of dividing the dataset (scenario.samples_per_client).
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>

#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::all_sources;
using test::client;
using test::error_of;
using test::kGenerators;
using test::kShifts;
using test::mnist_sized;
using test::same_shard;
using test::scenario;
using test::sources_of;
using test::unique;

ScenarioOptions drawn(Shift shift, Generator generator, int clients, int samples = 300) {
  ScenarioOptions options = scenario(shift, generator, 10, clients);
  options.samples_per_client = samples;
  return options;
}

/// Every sample that client k ever has.
std::set<std::uint32_t> base_set(const Federation& federation, std::uint32_t k) {
  std::set<std::uint32_t> all;
  for (Round round = 1; round <= federation.options().rounds; ++round) {
    all.merge(unique(all_sources(federation.shard(client(k), round))));
  }
  return all;
}

TEST(DrawnData, AClientsBaseSetHasNoSampleTwice) {
  // With replacement about 75 of 3000 would be drawn twice.
  for (const Generator generator : kGenerators) {
    const Federation federation(mnist_sized(), drawn(Shift::covariate, generator, 100000, 3000));
    EXPECT_EQ(base_set(federation, 0).size(), 3000U);
    EXPECT_EQ(base_set(federation, 99999).size(), 3000U);
    EXPECT_NE(base_set(federation, 0), base_set(federation, 99999));
  }
}

// What a client trains on and its test share stay; only which distribution it is tested on depends on the others.
TEST(DrawnData, TheNumberOfClientsLeavesAClientsDataAlone) {
  for (const Shift shift : kShifts) {
    for (const Generator generator : kGenerators) {
      const Federation few(mnist_sized(), drawn(shift, generator, 10));
      const Federation many(mnist_sized(), drawn(shift, generator, 2000));
      for (const Round round : {1, 10, 20}) {
        EXPECT_TRUE(same_shard(few.shard(client(9), round), many.shard(client(9), round)));
      }
      if (shift != Shift::label_prior) {
        EXPECT_EQ(sources_of(few.test(client(9), 0).data), sources_of(many.test(client(9), 0).data));
      }
      if (shift == Shift::concept_label) {
        EXPECT_EQ(few.test(client(9), 20).data.items, many.test(client(9), 20).data.items);
        EXPECT_EQ(few.test(client(9), 20).few_labels.items, many.test(client(9), 20).few_labels.items);
      }
    }
  }
}

TEST(DrawnData, SizesAreThoseOfADivisionIntoSharesOfThatSize) {
  for (const Shift shift : {Shift::covariate, Shift::concept_label, Shift::concept_feature}) {
    for (const Generator generator : kGenerators) {
      const Federation divided(mnist_sized(), scenario(shift, generator, 10, 200));
      for (const int clients : {1, 200, 2000}) {
        const Federation federation(mnist_sized(), drawn(shift, generator, clients));
        for (const Round round : {1, 20}) {
          const ClientShard expected = divided.shard(client(0), round);
          const ClientShard shard = federation.shard(client(0), round);
          EXPECT_EQ(shard.train.size() + shard.held_out.size(), expected.train.size() + expected.held_out.size());
          EXPECT_NEAR(static_cast<double>(shard.held_out.size()), static_cast<double>(expected.held_out.size()), 1);
        }
        EXPECT_EQ(federation.test(client(0), 0).data.size(), 50U);
        EXPECT_EQ(divided.test(client(0), 0).data.size(), 50U);
      }
    }
  }
}

TEST(DrawnData, StagesAndSplitsFollowTheSameRulesAsInADivision) {
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), drawn(shift, Generator::clean, 1000));
    const Schedule& schedule = federation.schedule();
    for (const Round round : {1, 11, 20}) {
      const ClientShard shard = federation.shard(client(777), round);
      EXPECT_EQ(shard.distribution, schedule.ids[777][static_cast<std::size_t>(shard.window)]);
      const Bank::Entry& entry = schedule.bank.entry(shard.distribution);
      const std::set<std::uint32_t> train = unique(sources_of(shard.train));
      for (const std::uint32_t source : sources_of(shard.held_out)) {
        ASSERT_FALSE(train.contains(source)) << "held-out pictures are never trained on";
      }
      for (const std::uint32_t source : all_sources(shard)) {
        ASSERT_TRUE(entry.keeps_class[static_cast<std::size_t>(mnist_sized()->train.labels[source])]);
      }
      EXPECT_EQ(shard.train.size() + shard.held_out.size(), 2000U);
    }
  }
}

TEST(DrawnData, FewLabelsComeFromOutsideTheOwnShare) {
  // P(Y) filters the data; the share itself is the same under every shift.
  const Federation unfiltered(mnist_sized(), drawn(Shift::covariate, Generator::clean, 1000, 30000));
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), drawn(shift, Generator::clean, 1000, 30000));
    for (std::uint32_t k = 0; k < 3; ++k) {
      const std::set<std::uint32_t> share = unique(sources_of(unfiltered.test(client(k), 0).data));
      EXPECT_EQ(share.size(), 5000U) << "half of the test set, without a sample twice";
      const TestShard shard = federation.test(client(k), 20);
      std::map<std::int32_t, int> per_label;
      for (std::size_t i = 0; i < shard.few_labels.size(); ++i) {
        ASSERT_FALSE(share.contains(shard.few_labels.items[i].source));
        ++per_label[shard.few_labels.label(i)];
      }
      EXPECT_EQ(per_label.size(), shift == Shift::label_prior ? 2U : 10U);
      for (const auto& [label, count] : per_label) {
        EXPECT_EQ(count, 20);
      }
    }
  }
}

TEST(DrawnData, AnotherSeedGivesOtherData) {
  ScenarioOptions options = drawn(Shift::covariate, Generator::clean, 100);
  const Federation first(mnist_sized(), options);
  options.seed = 43;
  const Federation second(mnist_sized(), options);
  EXPECT_NE(base_set(first, 0), base_set(second, 0));
  EXPECT_NE(sources_of(first.test(client(0), 0).data), sources_of(second.test(client(0), 0).data));
}

TEST(DrawnData, SameSeedSameDataOnAnyThread) {
  const Federation federation(mnist_sized(), drawn(Shift::label_prior, Generator::clean, 1000));
  const Federation again(mnist_sized(), drawn(Shift::label_prior, Generator::clean, 1000));
  std::vector<ClientShard> shards(8);
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t k = 0; k < 8; ++k) {
      threads.emplace_back([&federation, &shards, k] { shards[k] = federation.shard(client(k), 11); });
    }
  }
  for (std::uint32_t k = 0; k < 8; ++k) {
    EXPECT_TRUE(same_shard(shards[k], again.shard(client(k), 11)));
  }
}

TEST(DrawnData, AClientWithoutSamplesOfItsClassesIsRefused) {
  // Five samples per client and two of ten classes: some client has none.
  const Error error = error_of([] { Federation(mnist_sized(), drawn(Shift::label_prior, Generator::clean, 100, 5)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_EQ(std::string(error.what())
                .find("scenario.samples_per_client must be large enough that every client has samples of its classes, "
                      "got 5: client "),
            0U)
      << error.what();
}

TEST(TestClients, OnlyThoseThatAreScoredNeedTestSamples) {
  // 60 samples per client are ten test samples: one client in nine has none of its two classes.
  ScenarioOptions options = drawn(Shift::label_prior, Generator::clean, 1000, 60);
  options.test_clients = 1;
  EXPECT_EQ(Federation(mnist_sized(), options).test_clients(), 1U);
  options.test_clients = 1000;
  EXPECT_EQ(error_of([&] { Federation(mnist_sized(), options); }).code(), ErrorCode::invalid_config);
  options.test_clients = 0;
  EXPECT_EQ(error_of([&] { Federation(mnist_sized(), options); }).code(), ErrorCode::invalid_config);
}

TEST(TestClients, AreTheFirstOnes) {
  ScenarioOptions options = scenario(Shift::covariate, Generator::clean);
  const Federation all(mnist_sized(), options);
  EXPECT_EQ(all.test_clients(), 20U);
  options.test_clients = 3;
  const Federation some(mnist_sized(), options);
  EXPECT_EQ(some.test_clients(), 3U);
  EXPECT_EQ(some.test(client(2), 20).data.items, all.test(client(2), 20).data.items);
  EXPECT_EQ(some.test(client(2), 20).few_labels.items, all.test(client(2), 20).few_labels.items);
  EXPECT_EQ(error_of([&] { (void)some.test(client(3), 0); }).code(), ErrorCode::internal);
}

TEST(DrawnData, OneOfAHundredThousandClientsIsLikeAnyOther) {
  ScenarioOptions options = drawn(Shift::label_prior, Generator::clean, 100000);
  options.test_clients = 50;
  const Federation federation(mnist_sized(), options);
  for (const std::uint32_t k : {0U, 50000U, 99999U}) {
    const ClientShard shard = federation.shard(client(k), 20);
    EXPECT_EQ(shard.train.size() + shard.held_out.size(), 2000U);
    EXPECT_NEAR(static_cast<double>(unique(all_sources(shard)).size()), 60, 3 * 7);  // sigma = sqrt(300 x 0.16) = 7
  }
}

}  // namespace
}  // namespace feroma
