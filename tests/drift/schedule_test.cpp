#include "feroma/drift/schedule.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tests/data/synthetic.h"

namespace feroma {
namespace {

ScenarioOptions scenario(Generator generator, int drifts, int clients = 20) {
  ScenarioOptions options;
  options.generator = generator;
  options.drifts = drifts;
  options.clients = clients;
  return options;
}

Schedule schedule_of(const ScenarioOptions& options, std::uint64_t seed = 1) {
  return make_schedule(options, 10, Rng(seed));
}

/// Stages of rounds 1..R.
std::vector<int> stages(const ScenarioOptions& options) {
  const std::vector<int> table = schedule_of(options).stage_of_round;
  return {table.begin() + 1, table.end()};
}

TEST(StageOfRound, IsThePapersTable) {
  EXPECT_EQ(stages(scenario(Generator::feroma, 5)),
            (std::vector<int>{0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 4}));
  EXPECT_EQ(stages(scenario(Generator::feroma, 10)),
            (std::vector<int>{0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 9}));
  EXPECT_EQ(stages(scenario(Generator::feroma, 20)),
            (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19}));
}

TEST(StageOfRound, HasEqualStagesInClean) {
  EXPECT_EQ(stages(scenario(Generator::clean, 5)),
            (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4}));
  EXPECT_EQ(stages(scenario(Generator::clean, 10)),
            (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9}));
  EXPECT_EQ(stages(scenario(Generator::clean, 20)),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}));
}

RC_GTEST_PROP(StageOfRoundProperty, OnlyMovesForwardAndEndsInTheLastStage, ()) {
  ScenarioOptions options = scenario(*rc::gen::element(Generator::clean, Generator::feroma), 1, 1);
  options.rounds = *rc::gen::inRange(1, 300);
  options.drifts = *rc::gen::inRange(1, options.rounds + 1);
  const std::vector<int> table = stages(options);
  RC_ASSERT(table.size() == static_cast<std::size_t>(options.rounds));
  RC_ASSERT(std::is_sorted(table.begin(), table.end()));
  RC_ASSERT(table.front() >= 0);
  RC_ASSERT(table.back() == options.drifts - 1);
  if (options.generator == Generator::clean) {
    std::map<int, int> lengths;
    for (const int stage : table) {
      ++lengths[stage];
    }
    RC_ASSERT(lengths.size() == static_cast<std::size_t>(options.drifts));
    for (const auto& [stage, length] : lengths) {
      RC_ASSERT(length == options.rounds / options.drifts || length == options.rounds / options.drifts + 1);
    }
  }
}

/// Mean over clients and its standard error.
struct Estimate {
  double mean = 0;
  double error = 0;
};

template <class Measure>
Estimate estimate(const Schedule& schedule, Measure measure) {
  double sum = 0;
  double squares = 0;
  for (const std::vector<int>& ids : schedule.ids) {
    const double value = measure(ids);
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(schedule.ids.size());
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / n)};
}

double share_unchanged(const std::vector<int>& ids) {
  int same = 0;
  for (std::size_t i = 1; i < ids.size(); ++i) {
    same += ids[i] == ids[i - 1] ? 1 : 0;
  }
  return same / static_cast<double>(ids.size() - 1);
}

double distinct(const std::vector<int>& ids) {
  return static_cast<double>(std::set<int>(ids.begin(), ids.end()).size());
}

ScenarioOptions with_bank(int bank, int drifts, Generator generator) {
  ScenarioOptions options = scenario(generator, drifts, 4000);
  if (bank == 8) {
    options.shift = Shift::concept_feature;
    options.level = Level::high;
  } else {
    options.level = bank == 4 ? Level::low : bank == 6 ? Level::medium : Level::high;
  }
  return options;
}

// Reference values come from a simulation of 4000 runs, so their error is as large as ours: sqrt(2) sigma.
TEST(Sequence, HasThePapersStatistics) {
  struct Row {
    int bank, drifts;
    double unchanged, distinct;
  };
  const std::vector<Row> rows{{4, 5, 0.247, 3.06},  {4, 10, 0.276, 3.76}, {4, 20, 0.329, 3.99},  {6, 5, 0.164, 3.61},
                              {6, 10, 0.168, 5.02}, {6, 20, 0.196, 5.85}, {8, 5, 0.120, 3.91},   {8, 10, 0.127, 5.89},
                              {8, 20, 0.132, 7.43}, {12, 5, 0.082, 4.24}, {12, 10, 0.084, 6.96}, {12, 20, 0.083, 9.89}};
  for (const Row& row : rows) {
    const Schedule schedule = schedule_of(with_bank(row.bank, row.drifts, Generator::feroma));
    ASSERT_EQ(schedule.bank.size(), row.bank);
    const Estimate unchanged = estimate(schedule, share_unchanged);
    const Estimate different = estimate(schedule, distinct);
    EXPECT_NEAR(unchanged.mean, row.unchanged, 3 * std::sqrt(2.0) * unchanged.error + 0.0005)
        << row.bank << " distributions, " << row.drifts << " stages";
    EXPECT_NEAR(different.mean, row.distinct, 3 * std::sqrt(2.0) * different.error + 0.005)
        << row.bank << " distributions, " << row.drifts << " stages";
  }
}

TEST(Sequence, IsUniformInCleanEvenAfterEveryDistributionWasSeen) {
  const Schedule schedule = schedule_of(with_bank(4, 20, Generator::clean));
  const Estimate unchanged = estimate(schedule, share_unchanged);
  EXPECT_NEAR(unchanged.mean, 0.25, 3 * unchanged.error);  // the urn of the paper's data gives 0.329
  std::map<int, int> counts;
  for (const std::vector<int>& ids : schedule.ids) {
    for (const int id : ids) {
      ++counts[id];
    }
  }
  ASSERT_EQ(counts.size(), 4U);
  for (const auto& [id, count] : counts) {
    EXPECT_NEAR(count, 20000, 3 * 122.5);  // sigma = sqrt(80000 x 1/4 x 3/4)
  }
}

TEST(Sequence, HasValidIdsAndTheRightLength) {
  const Schedule schedule = schedule_of(with_bank(6, 10, Generator::feroma));
  for (const std::vector<int>& ids : schedule.ids) {
    ASSERT_EQ(ids.size(), 10U);
    ASSERT_GE(*std::min_element(ids.begin(), ids.end()), 1);
    ASSERT_LE(*std::max_element(ids.begin(), ids.end()), 6);
  }
}

TEST(Sequence, ChangesAtEveryBoundaryWhenForced) {
  for (const Generator generator : {Generator::clean, Generator::feroma}) {
    ScenarioOptions options = with_bank(4, 20, generator);
    options.force_change = true;
    const Schedule schedule = schedule_of(options);
    std::map<int, int> counts;
    for (const std::vector<int>& ids : schedule.ids) {
      ASSERT_EQ(share_unchanged(ids), 0.0);
      ++counts[ids.back()];
    }
    for (const auto& [id, count] : counts) {
      EXPECT_NEAR(count, 1000, 4 * 27.4) << "no distribution is preferred";  // sigma = sqrt(4000 x 3/16)
    }
  }
}

TEST(Sequence, AForcedChangeInASingleDistributionIsRefused) {
  ScenarioOptions options = scenario(Generator::clean, 5);
  options.rotations = 1;
  options.colours = 1;
  options.force_change = true;
  EXPECT_EQ(test::error_of([&] { (void)schedule_of(options); }).code(), ErrorCode::invalid_config);
}

TEST(Sequence, MoreStagesExtendItAndLeaveTheBankAlone) {
  ScenarioOptions options = scenario(Generator::feroma, 5);
  options.shift = Shift::concept_feature;
  const Schedule shorter = schedule_of(options);
  options.drifts = 20;
  const Schedule longer = schedule_of(options);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_EQ(shorter.ids[k], std::vector<int>(longer.ids[k].begin(), longer.ids[k].begin() + 5));
  }
  for (int id = 1; id <= shorter.bank.size(); ++id) {
    EXPECT_EQ(shorter.bank.entry(id).recipe, longer.bank.entry(id).recipe);
  }
}

TEST(Sequence, MoreClientsLeaveTheOthersAlone) {
  const Schedule few = schedule_of(scenario(Generator::clean, 10, 5));
  const Schedule many = schedule_of(scenario(Generator::clean, 10, 50));
  EXPECT_TRUE(std::equal(few.ids.begin(), few.ids.end(), many.ids.begin()));
}

TEST(Sequence, TakesTheBankInTurn) {
  ScenarioOptions options = scenario(Generator::clean, 1, 7);
  options.shift = Shift::concept_label;
  options.perm_bank = 3;
  options.drift_mode = DriftMode::fixed;
  options.strict = true;
  options.in_turn = true;
  const Schedule schedule = schedule_of(options);
  EXPECT_EQ(schedule.ids, (std::vector<std::vector<int>>{{1}, {2}, {3}, {1}, {2}, {3}, {1}}));
  EXPECT_EQ(schedule.test_ids, (std::vector<int>{1, 2, 3, 1, 2, 3, 1}));
}

TEST(Schedule, IsAFunctionOfTheSeed) {
  const ScenarioOptions options = scenario(Generator::clean, 10);
  EXPECT_EQ(schedule_of(options, 3).ids, schedule_of(options, 3).ids);
  EXPECT_EQ(schedule_of(options, 3).test_ids, schedule_of(options, 3).test_ids);
  EXPECT_NE(schedule_of(options, 3).ids, schedule_of(options, 4).ids);
}

// Given the last ids, test ids are multinomial with their frequencies. Summed over seeds, the statistic has the sum
// of the degrees of freedom; uniform draws over the distinct ids would give about twice as much.
TEST(TestIds, FollowTheFrequenciesOfTheLastIds) {
  double chi_square = 0;
  double degrees = 0;
  double own = 0;
  double own_expected = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = schedule_of(scenario(Generator::feroma, 5, 60), seed);
    std::map<int, double> last;
    std::map<int, double> drawn;
    for (std::size_t k = 0; k < 60; ++k) {
      ++last[schedule.ids[k].back()];
      ++drawn[schedule.test_ids[k]];
      own += schedule.test_ids[k] == schedule.ids[k].back() ? 1 : 0;
    }
    for (const auto& [id, count] : drawn) {
      ASSERT_TRUE(last.contains(id)) << "a test client never has an unseen distribution";
    }
    for (const auto& [id, count] : last) {
      chi_square += (drawn[id] - count) * (drawn[id] - count) / count;
      own_expected += count * count / 60;
    }
    degrees += static_cast<double>(last.size()) - 1;
  }
  EXPECT_NEAR(chi_square, degrees, 4 * std::sqrt(2 * degrees));
  EXPECT_NEAR(own, own_expected, 4 * std::sqrt(own_expected)) << "independent of the client's own last id";
}

TEST(TestIds, AreTheOwnLastIdsWhereLabelsArePermuted) {
  for (const Generator generator : {Generator::clean, Generator::feroma}) {
    ScenarioOptions options = scenario(generator, 10, 50);
    options.shift = Shift::concept_label;
    const Schedule schedule = schedule_of(options);
    for (std::size_t k = 0; k < 50; ++k) {
      EXPECT_EQ(schedule.test_ids[k], schedule.ids[k].back());
    }
  }
}

TEST(RealisedChanges, CountsWhatHappensBetweenRounds) {
  Schedule schedule;
  schedule.ids = {{1, 1, 2}, {3, 1, 2}};
  schedule.stage_of_round = {0, 0, 0, 1, 2};
  EXPECT_EQ(schedule.realised_changes(), 3);
  // A first stage that never runs brings no change.
  schedule.stage_of_round = {0, 1, 1, 2};
  EXPECT_EQ(schedule.realised_changes(), 2);
}

}  // namespace
}  // namespace feroma
