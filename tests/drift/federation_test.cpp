#include "feroma/drift/federation.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "feroma/data/catalog.h"
#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::all_sources;
using test::client;
using test::error_of;
using test::kGenerators;
using test::kShifts;
using test::make_dataset;
using test::mnist_sized;
using test::same_shard;
using test::scenario;
using test::sources_of;
using test::unique;

TEST(Federation, HeldOutPicturesAreNeverTrainedOnInClean) {
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), scenario(shift, Generator::clean, 20));
    for (std::uint32_t k = 0; k < 20; k += 5) {
      const ClientShard shard = federation.shard(client(k), 9);
      const std::set<std::uint32_t> train = unique(sources_of(shard.train));
      for (const std::uint32_t source : sources_of(shard.held_out)) {
        ASSERT_FALSE(train.contains(source));
      }
    }
  }
}

TEST(Federation, ClientsOwnDisjointPoolsThatCoverTheTrainingSet) {
  for (const Generator generator : kGenerators) {
    // Every stage runs, also under the paper's round table.
    const Federation federation(make_dataset(3007, 100), scenario(Shift::covariate, generator, 10));
    std::set<std::uint32_t> covered;
    std::size_t total = 0;
    for (std::uint32_t k = 0; k < 20; ++k) {
      std::set<std::uint32_t> own;
      for (Round round = 1; round <= 20; ++round) {
        const std::set<std::uint32_t> stage = unique(all_sources(federation.shard(client(k), round)));
        own.insert(stage.begin(), stage.end());
      }
      EXPECT_EQ(own.size(), k == 19 ? 157U : 150U);
      total += own.size();
      covered.insert(own.begin(), own.end());
    }
    EXPECT_EQ(total, 3007U);
    EXPECT_EQ(covered.size(), 3007U);
  }
}

TEST(Federation, StagesHoldTheirDistributionAndNothingElse) {
  for (const Shift shift : kShifts) {
    for (const Generator generator : kGenerators) {
      const Federation federation(mnist_sized(), scenario(shift, generator));
      const Schedule& schedule = federation.schedule();
      for (const Round round : {1, 10, 20}) {
        const ClientShard shard = federation.shard(client(4), round);
        EXPECT_EQ(shard.window, schedule.stage_of_round[static_cast<std::size_t>(round)]);
        EXPECT_EQ(shard.distribution, schedule.ids[4][static_cast<std::size_t>(shard.window)]);
        const Bank::Entry& entry = schedule.bank.entry(shard.distribution);
        for (const View* view : {&shard.train, &shard.held_out}) {
          for (std::size_t i = 0; i < view->size(); ++i) {
            const ViewItem item = view->items[i];
            ASSERT_EQ(view->recipes[item.recipe], entry.recipe);
            const auto label = static_cast<std::size_t>(mnist_sized()->train.labels[item.source]);
            ASSERT_TRUE(entry.keeps_class[label]);
            ASSERT_EQ(view->label(i), entry.recipe.label_of_class[label]);
          }
        }
      }
    }
  }
}

/// Two stages of client k that run and have the same distribution.
std::pair<Round, Round> rounds_with_one_distribution(const Federation& federation, std::uint32_t k) {
  std::map<int, Round> seen;
  for (Round round = 2; round <= 20; round += 2) {
    const auto stage = static_cast<std::size_t>(federation.schedule().stage_of_round[static_cast<std::size_t>(round)]);
    const auto [earlier, is_new] = seen.emplace(federation.schedule().ids[k][stage], round);
    if (!is_new) {
      return {earlier->second, round};
    }
  }
  ADD_FAILURE() << "ten stages and six distributions must repeat one";
  return {1, 1};
}

TEST(FederationLabelPrior, EqualStagesAreIdenticalSetsInThePapersData) {
  const Federation federation(mnist_sized(), scenario(Shift::label_prior, Generator::feroma));
  const auto [first, second] = rounds_with_one_distribution(federation, 2);
  const ClientShard a = federation.shard(client(2), first);
  const ClientShard b = federation.shard(client(2), second);
  EXPECT_NE(a.window, b.window);
  EXPECT_EQ(all_sources(a), all_sources(b));
  EXPECT_NE(a.held_out.items, b.held_out.items) << "each stage has its own split";
}

TEST(FederationLabelPrior, EqualStagesTakeDifferentChunksInClean) {
  const Federation federation(mnist_sized(), scenario(Shift::label_prior, Generator::clean));
  const auto [first, second] = rounds_with_one_distribution(federation, 2);
  EXPECT_NE(all_sources(federation.shard(client(2), first)), all_sources(federation.shard(client(2), second)));
}

TEST(FederationLabelPrior, ChunksOfOneDistributionUseTheWholePoolInClean) {
  // One distribution with one class: ten stages of the same 1/10 of the pool.
  ScenarioOptions options = scenario(Shift::label_prior, Generator::clean);
  options.bank = 1;
  options.classes_per_entry = 1;
  const Federation federation(mnist_sized(), options);
  std::multiset<std::uint32_t> rows;
  for (Round round = 1; round <= 20; round += 2) {
    const std::multiset<std::uint32_t> stage = all_sources(federation.shard(client(2), round));
    EXPECT_EQ(stage.size(), 2000U);
    rows.insert(stage.begin(), stage.end());
  }
  EXPECT_EQ(rows.size(), 20000U);
  EXPECT_NEAR(static_cast<double>(unique(rows).size()), 300, 3 * 16);  // hypergeometric, sigma = sqrt(3000 x 0.09) = 16
}

TEST(FederationLabelPrior, AClientWithoutSamplesOfItsClassesIsRefused) {
  // Five samples per client and two of ten classes: some client has none.
  const auto dataset = make_dataset(500, 500);
  const Error error = error_of([&] { Federation(dataset, scenario(Shift::label_prior, Generator::clean, 10, 100)); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_EQ(std::string(error.what()).find("scenario.clients must be small enough"), 0U) << error.what();
}

TEST(Federation, PicturesAreColouredOnlyWhereTheShiftChangesPictures) {
  const auto shape = [](Shift shift, Level level) {
    ScenarioOptions options = scenario(shift, Generator::clean);
    options.level = level;
    const Federation federation(mnist_sized(), options);
    EXPECT_EQ(federation.shard(client(0), 1).train.shape, federation.shape());
    EXPECT_EQ(federation.test(client(0), 2).few_labels.shape, federation.shape());
    return federation.shape();
  };
  for (const Level level : {Level::low, Level::medium, Level::high}) {
    EXPECT_EQ(shape(Shift::covariate, level), (SampleShape{3, 2, 2}));
    EXPECT_EQ(shape(Shift::concept_feature, level), (SampleShape{3, 2, 2}));
    EXPECT_EQ(shape(Shift::label_prior, level), (SampleShape{1, 2, 2}));
    EXPECT_EQ(shape(Shift::concept_label, level), (SampleShape{1, 2, 2}));
  }
}

TEST(Federation, ScaledInputsAreScaledEverywhere) {
  const auto dataset = mnist_sized();
  Federation federation(dataset, scenario(Shift::covariate, Generator::clean));
  const InputScales expected{{2, -1}, {3, 0}, {4, 0.5F}};
  federation.scale_inputs(expected);
  const auto same = [&](const View& view) {
    return std::equal(view.scales.begin(), view.scales.end(), expected.begin(), expected.end());
  };
  EXPECT_TRUE(same(federation.shard(client(0), 1).train));
  EXPECT_TRUE(same(federation.shard(client(0), 1).held_out));
  EXPECT_TRUE(same(federation.test(client(0), 2).data));
  EXPECT_TRUE(same(federation.test(client(0), 2).few_labels));
  EXPECT_TRUE(
      Federation(dataset, scenario(Shift::covariate, Generator::clean)).shard(client(0), 1).train.scales.empty());
}

TEST(FederationStreams, NumberOfStagesLeavesThePoolsAlone) {
  for (const Generator generator : kGenerators) {
    const Federation five(mnist_sized(), scenario(Shift::covariate, generator, 5));
    const Federation ten(mnist_sized(), scenario(Shift::covariate, generator, 10));
    EXPECT_EQ(sources_of(five.test(client(7), 0).data), sources_of(ten.test(client(7), 0).data));
    std::set<std::uint32_t> pool_of_five;
    std::set<std::uint32_t> pool_of_ten;
    for (Round round = 1; round <= 20; ++round) {
      pool_of_five.merge(unique(all_sources(five.shard(client(7), round))));
      pool_of_ten.merge(unique(all_sources(ten.shard(client(7), round))));
    }
    EXPECT_EQ(pool_of_five, pool_of_ten);
  }
}

TEST(FederationStreams, ShiftLeavesThePoolsAlone) {
  const Federation turned(mnist_sized(), scenario(Shift::covariate, Generator::clean));
  const Federation swapped(mnist_sized(), scenario(Shift::concept_label, Generator::clean));
  EXPECT_EQ(all_sources(turned.shard(client(7), 5)), all_sources(swapped.shard(client(7), 5)));
}

TEST(FederationStreams, SameSeedSameShardsOnAnyThread) {
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), scenario(shift, Generator::clean));
    const Federation again(mnist_sized(), scenario(shift, Generator::clean));
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
}

TEST(FederationStreams, AnotherSeedGivesOtherPools) {
  ScenarioOptions options = scenario(Shift::covariate, Generator::clean);
  const Federation first(mnist_sized(), options);
  options.seed = 43;
  const Federation second(mnist_sized(), options);
  EXPECT_NE(sources_of(first.test(client(0), 0).data), sources_of(second.test(client(0), 0).data));
}

TEST(FederationStreams, RoundsOfOneStageGiveTheSameShard) {
  const Federation federation(mnist_sized(), scenario(Shift::covariate, Generator::clean));
  EXPECT_TRUE(same_shard(federation.shard(client(1), 3), federation.shard(client(1), 4)));
  EXPECT_FALSE(same_shard(federation.shard(client(1), 4), federation.shard(client(1), 5)));
}

TEST(Federation, RefusesBadRequests) {
  const Federation federation(make_dataset(600, 100), scenario(Shift::covariate, Generator::clean));
  EXPECT_EQ(error_of([&] { (void)federation.shard(client(20), 1); }).code(), ErrorCode::internal);
  EXPECT_EQ(error_of([&] { (void)federation.shard(client(0), 0); }).code(), ErrorCode::internal);
  EXPECT_EQ(error_of([&] { (void)federation.shard(client(0), 21); }).code(), ErrorCode::internal);
  EXPECT_EQ(error_of([&] { (void)federation.test(client(20), 1); }).code(), ErrorCode::internal);
  EXPECT_EQ(error_of([&] { (void)federation.test(client(0), -1); }).code(), ErrorCode::internal);
}

TEST(Federation, RefusesScenariosAndDataThatDoNotFit) {
  const auto refusal = [](const Dataset& dataset, const ScenarioOptions& options) {
    return error_of([&] { Federation(std::make_shared<Dataset>(dataset), options); }).code();
  };
  const Dataset good = *make_dataset(600, 100);
  EXPECT_EQ(refusal(good, scenario(Shift::covariate, Generator::clean, 21)), ErrorCode::invalid_config);
  Dataset bad_label = good;
  bad_label.test.labels[3] = 10;
  EXPECT_EQ(refusal(bad_label, scenario(Shift::covariate, Generator::clean)), ErrorCode::invalid_data);
  Dataset short_pixels = good;
  short_pixels.train.pixels.pop_back();
  EXPECT_EQ(refusal(short_pixels, scenario(Shift::covariate, Generator::clean)), ErrorCode::invalid_data);
  EXPECT_EQ(refusal(*make_dataset(600, 100, {1, 2, 3}), scenario(Shift::covariate, Generator::clean)),
            ErrorCode::invalid_config);
}

TEST(Federation, HoldsTenThousandClients) {
  const Federation federation(mnist_sized(), scenario(Shift::covariate, Generator::clean, 10, 10000));
  const ClientShard shard = federation.shard(client(9999), 20);
  EXPECT_EQ(shard.train.size() + shard.held_out.size(), 2000U);
  EXPECT_EQ(unique(all_sources(shard)).size(), 6U);
  EXPECT_EQ(federation.test(client(5), 1).data.size(), 1U);
}

/// Real pictures, where Debian's package is installed.
TEST(FederationFashionMnistSlow, TurnedPicturesTurnBackToTheStoredOnes) {
  if (locate_dataset(find_dataset("fmnist"), "").empty()) {
    GTEST_SKIP() << "SKIPPED: Fashion-MNIST is absent; `apt install dataset-fashion-mnist` enables this test";
  }
  const std::shared_ptr<const Dataset> dataset = load_dataset("fmnist", "");
  ScenarioOptions options = scenario(Shift::covariate, Generator::clean);
  options.level = Level::high;
  const Federation federation(dataset, options);
  EXPECT_EQ(federation.shape(), (SampleShape{3, 28, 28}));
  const ClientShard shard = federation.shard(client(0), 1);
  const Transform transform = shard.train.recipes[shard.train.items[0].recipe].transform_of_class[0];
  std::vector<std::uint32_t> order(100);
  std::iota(order.begin(), order.end(), 0U);
  const Batch batch = assemble(shard.train, order, BatchLayout::sample_major);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::uint8_t* stored = dataset->train.pixels.data() + shard.train.items[i].source * std::size_t{784};
    for (int channel = 0; channel < 3; ++channel) {
      for (int r = 0; r < 28; ++r) {
        for (int c = 0; c < 28; ++c) {
          // Where pixel (r, c) of the stored picture goes when it is turned counter-clockwise.
          int row = r;
          int column = c;
          for (int turn = 0; turn < transform.quarter_turns; ++turn) {
            const int next = 27 - column;
            column = row;
            row = next;
          }
          const float seen =
              batch.inputs[((i * 3 + static_cast<std::size_t>(channel)) * 28 + static_cast<std::size_t>(row)) * 28 +
                           static_cast<std::size_t>(column)];
          const float expected = channel == transform.tint ? 1.0F : static_cast<float>(stored[r * 28 + c]) / 255.0F;
          ASSERT_EQ(seen, expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace feroma
