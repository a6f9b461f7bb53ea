// Clients with a distribution of their own: static and trND_teDR.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "feroma/partition/ranking.h"
#include "tests/drift/federation_support.h"

namespace feroma {
namespace {

using test::client;
using test::error_of;
using test::make_dataset;
using test::mnist_sized;
using test::sources_of;

ScenarioOptions fixed(Shift shift, Level level, DriftMode mode = DriftMode::fixed) {
  ScenarioOptions options;
  options.shift = shift;
  options.level = level;
  options.drift_mode = mode;
  options.drifts = 1;
  return options;
}

std::map<std::pair<int, int>, double> pattern_counts(const View& view) {
  std::map<std::pair<int, int>, double> counts;
  for (const ViewItem& item : view.items) {
    const auto label = static_cast<std::size_t>(view.samples->labels[item.source]);
    const Transform transform = view.recipes[item.recipe].transform_of_class[label];
    ++counts[{transform.quarter_turns, transform.tint}];
  }
  return counts;
}

TEST(StaticCovariate, FollowsTheRankingOfAnglesAndColours) {
  ScenarioOptions options = fixed(Shift::covariate, Level::high);
  options.skew_min = 1;
  options.skew_max = 1;
  options.clients = 10;
  const Federation federation(mnist_sized(), options);
  const std::vector<double> ranks = ranking(4, 1);
  for (std::uint32_t k = 0; k < 10; ++k) {
    std::map<int, double> angles;
    for (const auto& [pattern, count] : pattern_counts(federation.shard(client(k), 1).train)) {
      angles[pattern.first] += count;
    }
    std::vector<double> sorted;
    double total = 0;
    for (const auto& [angle, count] : angles) {
      sorted.push_back(count);
      total += count;
    }
    std::sort(sorted.rbegin(), sorted.rend());
    ASSERT_EQ(sorted.size(), 4U);
    double chi_square = 0;
    for (std::size_t rank = 0; rank < 4; ++rank) {
      chi_square += std::pow(sorted[rank] - total * ranks[rank], 2) / (total * ranks[rank]);
    }
    EXPECT_LT(chi_square, 16.3);  // 0.1 % of chi-square with 3 degrees of freedom
  }
}

TEST(StaticCovariate, TestDataHaveTheClientsOwnRanking) {
  const Federation federation(mnist_sized(), fixed(Shift::covariate, Level::high));
  for (std::uint32_t k = 0; k < 20; ++k) {
    const auto train = pattern_counts(federation.shard(client(k), 1).train);
    const auto tested = pattern_counts(federation.test(client(k), 0).data);
    double difference = 0;
    for (const auto& [pattern, count] : train) {
      const auto found = tested.find(pattern);
      difference += std::abs(count / 2400 - (found == tested.end() ? 0 : found->second / 500));
    }
    EXPECT_LT(difference, 0.25) << k;
  }
}

TEST(StaticCovariate, LevelsHaveTheirAnglesAndColours) {
  for (const auto& [level, patterns] : {std::pair{Level::low, 2U}, {Level::medium, 4U}, {Level::high, 12U}}) {
    const Federation federation(mnist_sized(), fixed(Shift::covariate, level));
    EXPECT_EQ(pattern_counts(federation.shard(client(0), 1).train).size(), patterns);
  }
}

TEST(StaticConceptLabel, RelabelsInsideThePoolWithItsProbability) {
  ScenarioOptions options = fixed(Shift::concept_label, Level::high);
  options.skew_min = 0.8;
  options.skew_max = 0.8;
  const Federation federation(mnist_sized(), options);
  std::set<std::int32_t> changed;
  for (std::uint32_t k = 0; k < 20; ++k) {
    const View view = federation.shard(client(k), 1).train;
    ASSERT_EQ(view.recipes.size(), 2U);
    double swapped = 0;
    for (std::size_t i = 0; i < view.size(); ++i) {
      swapped += view.items[i].recipe;
      if (view.label(i) != view.samples->labels[view.items[i].source]) {
        changed.insert(view.samples->labels[view.items[i].source]);
      }
    }
    EXPECT_NEAR(swapped / static_cast<double>(view.size()), 0.8,
                4 * std::sqrt(0.16 / static_cast<double>(view.size())));
    EXPECT_EQ(view.recipes[1], federation.test(client(k), 0).data.recipes[1]);
  }
  EXPECT_EQ(changed.size(), 5U) << "one pool for all clients";
}

TEST(StaticConceptFeature, TouchesOnlyTheTargetedClasses) {
  const Federation federation(mnist_sized(), fixed(Shift::concept_feature, Level::medium));
  std::set<std::size_t> turned;
  std::set<std::size_t> tinted;
  for (std::uint32_t k = 0; k < 20; ++k) {
    const View view = federation.shard(client(k), 1).train;
    ASSERT_EQ(view.recipes.size(), 1U);
    for (std::size_t c = 0; c < 10; ++c) {
      const Transform transform = view.recipes[0].transform_of_class[c];
      if (transform.quarter_turns != 0) {
        turned.insert(c);
      }
      if (transform.tint >= 0) {
        tinted.insert(c);
      }
    }
  }
  EXPECT_EQ(turned.size(), 3U);
  EXPECT_EQ(tinted.size(), 3U);
}

TEST(TrainStays, TestDataHaveTheReversedRanking) {
  ScenarioOptions options = fixed(Shift::covariate, Level::medium, DriftMode::trND_teDR);
  options.skew_min = 1;
  options.skew_max = 1;
  const Federation federation(mnist_sized(), options);
  for (std::uint32_t k = 0; k < 5; ++k) {
    const auto train = pattern_counts(federation.shard(client(k), 1).train);
    const auto tested = pattern_counts(federation.test(client(k), 0).data);
    ASSERT_EQ(train.size(), 6U);
    const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto frequent = std::max_element(train.begin(), train.end(), by_count)->first;
    const auto frequent_test = std::max_element(tested.begin(), tested.end(), by_count)->first;
    EXPECT_NE(frequent, frequent_test);
    EXPECT_LT(tested.contains(frequent) ? tested.at(frequent) : 0, 20) << "the last of six ranks: 0.4 % of 500";
  }
}

TEST(TrainStays, TestDataHaveAnotherPermutation) {
  const Federation federation(mnist_sized(), fixed(Shift::concept_label, Level::high, DriftMode::trND_teDR));
  int same = 0;
  for (std::uint32_t k = 0; k < 20; ++k) {
    same += federation.shard(client(k), 1).train.recipes[1] == federation.test(client(k), 0).data.recipes[1] ? 1 : 0;
    EXPECT_EQ(federation.test(client(k), 0).distribution, 20 + static_cast<int>(k) + 1);
  }
  EXPECT_LE(same, 2) << "one of 120 permutations";
}

TEST(StaticStrict, LabelPriorIsRefilledToItsSize) {
  ScenarioOptions options = fixed(Shift::label_prior, Level::medium);
  options.strict = true;
  const Federation federation(mnist_sized(), options);
  for (std::uint32_t k = 0; k < 20; ++k) {
    const ClientShard shard = federation.shard(client(k), 1);
    const std::size_t rows = shard.train.size() + shard.held_out.size();
    EXPECT_NEAR(static_cast<double>(rows), 3000, 350);
    EXPECT_EQ(rows % 5, 0U) << "kept samples times 10 / 2";
    EXPECT_NEAR(static_cast<double>(federation.test(client(k), 0).data.size()), 500, 150);
    EXPECT_EQ(federation.test(client(k), 0).distribution, shard.distribution);
  }
}

TEST(StaticIds, AreOnePerClientUnlessNothingDiffers) {
  const Federation skewed(mnist_sized(), fixed(Shift::label_prior, Level::high));
  const Federation equal(mnist_sized(), fixed(Shift::iid, Level::medium));
  EXPECT_EQ(skewed.shard(client(7), 20).distribution, 8);
  EXPECT_EQ(skewed.test(client(7), 0).distribution, 8);
  EXPECT_EQ(skewed.schedule().bank.size(), 20);
  EXPECT_EQ(equal.shard(client(7), 20).distribution, 1);
  EXPECT_EQ(equal.schedule().bank.size(), 1);
}

TEST(StaticData, LastsForTheWholeRunAndWorksForClientsThatDraw) {
  ScenarioOptions options = fixed(Shift::covariate, Level::medium);
  options.clients = 100000;
  options.samples_per_client = 300;
  const Federation federation(mnist_sized(), options);
  const ClientShard shard = federation.shard(client(99999), 1);
  EXPECT_EQ(shard.train.size() + shard.held_out.size(), 300U);
  EXPECT_TRUE(test::same_shard(shard, federation.shard(client(99999), 20)));
}

std::shared_ptr<const Dataset> with_domains(int domains) {
  auto dataset = std::make_shared<Dataset>(*make_dataset(6000, 1000));
  dataset->domain_names.assign(static_cast<std::size_t>(domains), "domain");
  for (Samples* samples : {&dataset->train, &dataset->test}) {
    for (std::size_t i = 0; i < samples->count(); ++i) {
      samples->domains.push_back(static_cast<std::int32_t>(i / 10 % static_cast<std::size_t>(domains)));
    }
  }
  return dataset;
}

TEST(NaturalData, AreDrawnWithoutReplacementFromTheDomain) {
  const auto dataset = with_domains(4);
  ScenarioOptions options;
  options.shift = Shift::natural;
  options.samples_per_stage = 40;
  const Federation federation(dataset, options);
  EXPECT_EQ(federation.schedule().bank.size(), 4);
  for (const Round round : {1, 9, 20}) {
    const ClientShard shard = federation.shard(client(3), round);
    const std::multiset<std::uint32_t> rows = test::all_sources(shard);
    EXPECT_EQ(rows.size(), 40U);
    EXPECT_EQ(test::unique(rows).size(), 40U);
    for (const std::uint32_t source : rows) {
      EXPECT_EQ(dataset->train.domains[source], shard.distribution - 1);
    }
  }
}

TEST(NaturalData, NeedDomains) {
  ScenarioOptions options;
  options.shift = Shift::natural;
  const Error error = error_of([&] { Federation(make_dataset(6000, 1000), options); });
  EXPECT_EQ(error.code(), ErrorCode::invalid_config);
  EXPECT_EQ(std::string(error.what()).find("scenario.shift must not be natural"), 0U) << error.what();
}

TEST(MultiLabelData, AreNotShiftedByClass) {
  auto dataset = std::make_shared<Dataset>(*make_dataset(600, 200));
  for (Samples* samples : {&dataset->train, &dataset->test}) {
    samples->targets.assign(samples->count() * 10, 0);
    std::fill(samples->labels.begin(), samples->labels.end(), 0);
  }
  ScenarioOptions options;
  options.shift = Shift::label_prior;
  EXPECT_EQ(error_of([&] { Federation(dataset, options); }).code(), ErrorCode::invalid_config);
  options.shift = Shift::covariate;
  EXPECT_NO_THROW(Federation(dataset, options));
}

TEST(FreshPermutationData, AreNewForEachStageAndKeptForTheTest) {
  const auto dataset = make_dataset(6000, 2000, {1, 2, 2}, 100);
  ScenarioOptions options;
  options.shift = Shift::concept_label;
  const Federation federation(dataset, options);
  const Federation shorter(dataset, [&] {
    ScenarioOptions five = options;
    five.drifts = 5;
    return five;
  }());
  const auto recipe = [](const View& view) { return view.recipes[view.items[0].recipe]; };
  const Recipe first = recipe(federation.shard(client(2), 1).train);
  EXPECT_NE(first, recipe(federation.shard(client(2), 20).train));
  EXPECT_NE(first, recipe(federation.shard(client(3), 1).train));
  EXPECT_EQ(first, recipe(shorter.shard(client(2), 1).train)) << "the number of stages changes no permutation";
  EXPECT_EQ(recipe(federation.test(client(2), 1).data), recipe(federation.shard(client(2), 20).train));
  std::set<std::int32_t> image(first.label_of_class.begin(), first.label_of_class.end());
  EXPECT_EQ(image.size(), 100U);
}

TEST(ScaleRules, GiveTheSizesOfTheText) {
  const auto rows = [](ScaleRule rule, int clients) {
    ScenarioOptions options;
    options.clients = clients;
    options.scale_rule = rule;
    const ClientShard shard = Federation(mnist_sized(), options).shard(client(0), 20);
    return shard.train.size() + shard.held_out.size();
  };
  for (const int clients : {10, 20, 50, 100}) {
    EXPECT_EQ(rows(ScaleRule::code, clients), 2000U);
    EXPECT_EQ(rows(ScaleRule::none, clients), 6000U / static_cast<std::size_t>(clients));
  }
  EXPECT_EQ(rows(ScaleRule::paper, 10), 2000U);
  EXPECT_EQ(rows(ScaleRule::paper, 20), 2000U);
  EXPECT_EQ(rows(ScaleRule::paper, 50), 1600U);
  EXPECT_EQ(rows(ScaleRule::paper, 100), 1200U);
}

TEST(PublishedAnda, DoesNotScaleLabelPrior) {
  const Federation federation(mnist_sized(), test::scenario(Shift::label_prior, Generator::anda_2024));
  const std::multiset<std::uint32_t> rows = test::all_sources(federation.shard(client(3), 20));
  EXPECT_NEAR(static_cast<double>(rows.size()), 600, 80);
  EXPECT_EQ(test::unique(rows).size(), rows.size());
  EXPECT_NEAR(static_cast<double>(federation.test(client(3), 0).data.size()), 100, 35);
}

}  // namespace
}  // namespace feroma
