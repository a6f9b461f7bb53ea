#include "feroma/drift/federation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "feroma/data/catalog.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

using test::error_of;
using test::make_dataset;

constexpr std::array kShifts{Shift::covariate, Shift::label_prior, Shift::concept_label, Shift::concept_feature};
constexpr std::array kGenerators{Generator::clean, Generator::feroma};

ScenarioOptions scenario(Shift shift, Generator generator, int drifts = 10, int clients = 20) {
  ScenarioOptions options;
  options.shift = shift;
  options.generator = generator;
  options.drifts = drifts;
  options.clients = clients;
  return options;
}

/// Pictures are four pixels; only their number is MNIST's.
const std::shared_ptr<const Dataset>& mnist_sized() {
  static const std::shared_ptr<const Dataset> dataset = make_dataset(60000, 10000);
  return dataset;
}

ClientId client(std::uint32_t index) { return ClientId{index}; }

std::multiset<std::uint32_t> sources_of(const View& view) {
  std::multiset<std::uint32_t> sources;
  for (const ViewItem& item : view.items) {
    sources.insert(item.source);
  }
  return sources;
}

/// All rows of a shard, training and held out.
std::multiset<std::uint32_t> all_sources(const ClientShard& shard) {
  std::multiset<std::uint32_t> all = sources_of(shard.train);
  const std::multiset<std::uint32_t> held_out = sources_of(shard.held_out);
  all.insert(held_out.begin(), held_out.end());
  return all;
}

std::set<std::uint32_t> unique(const std::multiset<std::uint32_t>& sources) { return {sources.begin(), sources.end()}; }

bool same_shard(const ClientShard& a, const ClientShard& b) {
  return a.window == b.window && a.distribution == b.distribution && a.train.items == b.train.items &&
         a.held_out.items == b.held_out.items;
}

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

TEST(FederationTest, SharesAreDisjointAndCoverTheTestSet) {
  for (const Shift shift : {Shift::covariate, Shift::concept_label, Shift::concept_feature}) {
    for (const Generator generator : kGenerators) {
      const Federation federation(mnist_sized(), scenario(shift, generator));
      std::set<std::uint32_t> covered;
      for (std::uint32_t k = 0; k < 20; ++k) {
        const TestShard shard = federation.test(client(k), 0);
        EXPECT_EQ(shard.data.size(), 500U);
        EXPECT_TRUE(shard.few_labels.items.empty());
        EXPECT_EQ(shard.distribution, federation.schedule().test_ids[k]);
        EXPECT_EQ(shard.data.samples, &mnist_sized()->test);
        for (const ViewItem& item : shard.data.items) {
          covered.insert(item.source);
          ASSERT_EQ(item.recipe, static_cast<std::uint32_t>(shard.distribution - 1));
        }
      }
      EXPECT_EQ(covered.size(), 10000U);
    }
  }
}

TEST(FederationTest, LabelPriorIsFilteredAndScaledOnlyInThePapersData) {
  for (const Generator generator : kGenerators) {
    const Federation federation(mnist_sized(), scenario(Shift::label_prior, generator));
    double rows = 0;
    double unique_rows = 0;
    for (std::uint32_t k = 0; k < 20; ++k) {
      const TestShard shard = federation.test(client(k), 0);
      const Bank::Entry& entry = federation.schedule().bank.entry(shard.distribution);
      for (std::size_t i = 0; i < shard.data.size(); ++i) {
        ASSERT_TRUE(entry.keeps_class[static_cast<std::size_t>(shard.data.label(i))]);
      }
      rows += static_cast<double>(shard.data.size()) / 20;
      unique_rows += static_cast<double>(unique(sources_of(shard.data)).size()) / 20;
    }
    EXPECT_NEAR(unique_rows, 100, 6);
    EXPECT_NEAR(rows, generator == Generator::feroma ? 667 : 100, generator == Generator::feroma ? 40 : 6);
  }
}

TEST(FederationTest, FewLabelsComeFromOutsideTheOwnShareUnderTheSameRecipe) {
  for (const Shift shift : kShifts) {
    const Federation federation(mnist_sized(), scenario(shift, Generator::clean));
    // P(Y) filters the data; the share itself is the same under every shift.
    const Federation unfiltered(mnist_sized(), scenario(Shift::covariate, Generator::clean));
    for (std::uint32_t k = 0; k < 3; ++k) {
      const TestShard none = federation.test(client(k), 0);
      const TestShard shard = federation.test(client(k), 20);
      EXPECT_EQ(shard.data.items, none.data.items);
      const std::set<std::uint32_t> share = unique(sources_of(unfiltered.test(client(k), 0).data));
      std::map<std::int32_t, int> per_label;
      for (std::size_t i = 0; i < shard.few_labels.size(); ++i) {
        ASSERT_FALSE(share.contains(shard.few_labels.items[i].source));
        ASSERT_EQ(shard.few_labels.items[i].recipe, static_cast<std::uint32_t>(shard.distribution - 1));
        ++per_label[shard.few_labels.label(i)];
      }
      EXPECT_EQ(per_label.size(), shift == Shift::label_prior ? 2U : 10U);
      for (const auto& [label, count] : per_label) {
        EXPECT_EQ(count, 20);
      }
      EXPECT_EQ(unique(sources_of(shard.few_labels)).size(), shard.few_labels.size()) << "no sample twice";
    }
  }
}

TEST(FederationTest, FewLabelsAreAsManyAsThereAre) {
  const Federation federation(make_dataset(600, 40), scenario(Shift::covariate, Generator::clean, 2, 2));
  EXPECT_EQ(federation.test(client(0), 20).few_labels.size(), 20U) << "the other client's whole share";
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
            ErrorCode::unsupported);
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
