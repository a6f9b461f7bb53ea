// Sequences under every option, and the distributions that clients are tested on.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "feroma/drift/schedule.h"
#include "feroma/drift/sequence.h"
#include "tests/data/synthetic.h"

namespace feroma {
namespace {

ScenarioOptions scenario(DriftMode mode, TestRule rule = TestRule::automatic, int clients = 60) {
  ScenarioOptions options;
  options.drift_mode = mode;
  options.test_rule = rule;
  options.clients = clients;
  options.drifts = 5;
  return options;
}

Schedule tested_schedule(const ScenarioOptions& options, std::uint64_t seed = 1, int classes = 10, int domains = 0) {
  return make_schedule(options, classes, Rng(seed), domains);
}

std::set<int> values_of(const std::vector<int>& ids) { return {ids.begin(), ids.end()}; }

std::set<int> last_ids(const Schedule& schedule) {
  std::set<int> last;
  for (const std::vector<int>& ids : schedule.ids) {
    last.insert(ids.back());
  }
  return last;
}

TEST(TestRules, LastSetIsUniformOverTheDistinctLastIds) {
  double chi_square = 0;
  double degrees = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Schedule schedule = tested_schedule(scenario(DriftMode::trDR_teND, TestRule::last_set), seed);
    const std::set<int> last = last_ids(schedule);
    std::map<int, double> drawn;
    for (const int id : schedule.test_ids) {
      ASSERT_TRUE(last.contains(id));
      ++drawn[id];
    }
    const double expected = 60.0 / static_cast<double>(last.size());
    for (const int id : last) {
      chi_square += (drawn[id] - expected) * (drawn[id] - expected) / expected;
    }
    degrees += static_cast<double>(last.size()) - 1;
  }
  EXPECT_NEAR(chi_square, degrees, 4 * std::sqrt(2 * degrees));
}

TEST(TestRules, OwnSeenIsUniformOverTheDistinctIdsOfTheClient) {
  // Ranks of the test id among the own distinct ids: uniform, also where one of them occurs more often.
  std::map<std::size_t, double> drawn;
  double clients = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Schedule schedule = tested_schedule(scenario(DriftMode::trDA_teND), seed);
    for (std::size_t k = 0; k < schedule.ids.size(); ++k) {
      const std::set<int> own = values_of(schedule.ids[k]);
      ASSERT_TRUE(own.contains(schedule.test_ids[k]));
      if (own.size() == 2) {
        ++drawn[static_cast<std::size_t>(
            std::count(schedule.ids[k].begin(), schedule.ids[k].end(), schedule.test_ids[k]))];
        ++clients;
      }
    }
  }
  // Two distinct ids occur 1 + 4 or 2 + 3 times; each of a pair is tested equally often.
  EXPECT_NEAR(drawn[1], drawn[4], 4 * std::sqrt(drawn[1] + drawn[4]));
  EXPECT_NEAR(drawn[2], drawn[3], 4 * std::sqrt(drawn[2] + drawn[3]));
  EXPECT_GT(clients, 300);
}

TEST(TestRules, PublishedAndaTestsOnWhatTheClientHasSeenAlsoWherePermutedLabels) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND);
  options.generator = Generator::anda_2024;
  options.shift = Shift::concept_label;
  const Schedule schedule = tested_schedule(options);
  int own_last = 0;
  for (std::size_t k = 0; k < 60; ++k) {
    EXPECT_TRUE(values_of(schedule.ids[k]).contains(schedule.test_ids[k]));
    own_last += schedule.test_ids[k] == schedule.ids[k].back() ? 1 : 0;
  }
  EXPECT_LT(own_last, 40);
}

TEST(TestRules, UnseenIsUniformOverTheBankAndNeverTrainedOn) {
  for (const DriftMode mode : {DriftMode::trDR_teDR, DriftMode::trDA_teDR}) {
    for (const Generator generator : {Generator::clean, Generator::feroma, Generator::anda_2024}) {
      ScenarioOptions options = scenario(mode, TestRule::automatic, 6000);
      options.generator = generator;
      options.drifts = 20;
      const Schedule schedule = tested_schedule(options);
      std::map<int, double> tests;
      std::map<int, double> firsts;
      for (std::size_t k = 0; k < 6000; ++k) {
        ASSERT_FALSE(values_of(schedule.ids[k]).contains(schedule.test_ids[k]));
        ++tests[schedule.test_ids[k]];
        ++firsts[schedule.ids[k].front()];
      }
      for (int id = 1; id <= 6; ++id) {
        EXPECT_NEAR(tests[id], 1000, 4 * 28.9);  // sigma = sqrt(6000 x 5/36)
        EXPECT_NEAR(firsts[id], 1000, 4 * 28.9);
      }
    }
  }
}

TEST(TestRules, SeenOnceTestsOnWhatOccursEarlierButNotInTheLastStage) {
  for (const Generator generator : {Generator::clean, Generator::feroma}) {
    for (const bool force : {false, true}) {
      ScenarioOptions options = scenario(DriftMode::trDR_teND, TestRule::seen_once, 20);
      options.generator = generator;
      options.force_change = force;
      const Schedule schedule = tested_schedule(options);
      const std::set<int> last = last_ids(schedule);
      std::set<int> earlier;
      for (const std::vector<int>& ids : schedule.ids) {
        earlier.insert(ids.begin(), ids.end() - 1);
        for (std::size_t i = 1; force && i < ids.size(); ++i) {
          EXPECT_NE(ids[i], ids[i - 1]);
        }
      }
      for (const int id : schedule.test_ids) {
        EXPECT_FALSE(last.contains(id));
        EXPECT_TRUE(earlier.contains(id));
      }
      EXPECT_EQ(values_of(schedule.test_ids).size(), 2U) << "a third of six distributions is retired";
    }
  }
}

TEST(UnseenRate, IsExactAndUsesHeldOutAnglesInTheSameColours) {
  for (const double rate : {0.0, 0.2, 0.5, 0.83, 1.0}) {
    ScenarioOptions options = scenario(DriftMode::trDR_teND, TestRule::automatic, 20);
    options.unseen_rate = rate;
    const Schedule schedule = tested_schedule(options);
    int unseen = 0;
    for (const int id : schedule.test_ids) {
      if (id > schedule.bank.trained()) {
        ++unseen;
        EXPECT_EQ(schedule.bank.entry(id).recipe.transform_of_class[0].quarter_turns % 2, 1);
        EXPECT_GE(schedule.bank.entry(id).recipe.transform_of_class[0].tint, 0);
      }
    }
    EXPECT_EQ(unseen, std::lround(rate * 20));
    EXPECT_EQ(schedule.bank.size(), rate == 0 ? 6 : 12);
    for (const std::vector<int>& ids : schedule.ids) {
      EXPECT_LE(*std::max_element(ids.begin(), ids.end()), 6);
    }
  }
}

// Of 2 angles x 3 colours, two pairs are held out; their angles and their colours occur in training.
TEST(UnseenRate, FromTheBankHoldsOutPairsOfKnownAnglesAndColours) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND, TestRule::automatic, 20);
  options.unseen_rate = 0.5;
  options.unseen_from = UnseenFrom::bank;
  const Schedule schedule = tested_schedule(options);
  ASSERT_EQ(schedule.bank.size(), 6);
  ASSERT_EQ(schedule.bank.trained(), 4);
  const auto pattern = [&](int id) { return schedule.bank.entry(id).recipe.transform_of_class[0]; };
  for (int held = 5; held <= 6; ++held) {
    bool angle = false;
    bool colour = false;
    for (int id = 1; id <= 4; ++id) {
      EXPECT_NE(pattern(id), pattern(held));
      angle = angle || pattern(id).quarter_turns == pattern(held).quarter_turns;
      colour = colour || pattern(id).tint == pattern(held).tint;
    }
    EXPECT_TRUE(angle && colour);
  }
  EXPECT_EQ(std::count_if(schedule.test_ids.begin(), schedule.test_ids.end(), [](int id) { return id > 4; }), 10);
  for (const std::vector<int>& ids : schedule.ids) {
    EXPECT_LE(*std::max_element(ids.begin(), ids.end()), 4);
  }
}

TEST(UnseenRate, LeavesTrainingAndTheOtherTestClientsAlone) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND, TestRule::automatic, 20);
  const Schedule without = tested_schedule(options);
  options.unseen_rate = 0.5;
  const Schedule with = tested_schedule(options);
  EXPECT_EQ(with.ids, without.ids);
  for (std::size_t k = 0; k < 20; ++k) {
    EXPECT_TRUE(with.test_ids[k] == without.test_ids[k] || with.test_ids[k] > 6);
  }
}

TEST(UnseenRate, HeldOutDistributionsDifferFromAllOthersUnderEveryShift) {
  for (const Shift shift : {Shift::covariate, Shift::label_prior, Shift::concept_feature}) {
    for (const Level level : {Level::low, Level::medium, Level::high}) {
      ScenarioOptions options = scenario(DriftMode::trDR_teND, TestRule::automatic, 20);
      options.shift = shift;
      options.level = level;
      options.unseen_rate = 1;
      const Bank bank = tested_schedule(options).bank;
      ASSERT_GE(bank.held_out, 1);
      for (int held = bank.trained() + 1; held <= bank.size(); ++held) {
        for (int id = 1; id < held; ++id) {
          const bool same = bank.entry(id).recipe == bank.entry(held).recipe &&
                            bank.entry(id).keeps_class == bank.entry(held).keeps_class;
          EXPECT_FALSE(same) << name_of(shift) << " " << name_of(level) << " " << id << " " << held;
        }
      }
    }
  }
}

TEST(SequenceOptions, MaxDistributionsBoundsWhatAClientSees) {
  for (const Generator generator : {Generator::clean, Generator::feroma, Generator::anda_2024}) {
    ScenarioOptions options = scenario(DriftMode::trDR_teND);
    options.generator = generator;
    options.drifts = 20;
    options.max_distributions = 3;
    std::set<int> all;
    for (const std::vector<int>& ids : tested_schedule(options).ids) {
      EXPECT_EQ(values_of(ids).size(), 3U);
      all.insert(ids.begin(), ids.end());
    }
    EXPECT_EQ(all.size(), 6U);
  }
}

TEST(SequenceOptions, AContinualClientNeverReturns) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND);
  options.drifts = 20;
  options.continual = true;
  for (const int most : {0, 3}) {
    options.max_distributions = most;
    for (const std::vector<int>& ids : tested_schedule(options).ids) {
      std::set<int> left;
      for (std::size_t i = 1; i < ids.size(); ++i) {
        if (ids[i] != ids[i - 1]) {
          left.insert(ids[i - 1]);
        }
        ASSERT_FALSE(left.contains(ids[i]));
      }
      EXPECT_LE(values_of(ids).size(), most == 0 ? 6U : 3U);
    }
  }
}

TEST(SequenceOptions, RandomLockersAreSortedAndEndInTheLastStage) {
  for (const Generator generator : {Generator::clean, Generator::feroma}) {
    ScenarioOptions options = scenario(DriftMode::trDR_teND);
    options.generator = generator;
    options.rounds = 100;
    const std::vector<int> even = tested_schedule(options).stage_of_round;
    options.random_lockers = true;
    const std::vector<int> table = tested_schedule(options).stage_of_round;
    EXPECT_TRUE(std::is_sorted(table.begin(), table.end()));
    EXPECT_EQ(table.back(), 4);
    EXPECT_NE(table, even);
    EXPECT_NE(table, tested_schedule(options, 2).stage_of_round);
    EXPECT_EQ(tested_schedule(options).ids, tested_schedule(scenario(DriftMode::trDR_teND)).ids);
  }
}

TEST(FreshPermutations, HaveIdsOfTheirOwnAndBackToTheirPlace) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND);
  options.shift = Shift::concept_label;
  const Schedule schedule = tested_schedule(options, 1, 100);
  EXPECT_EQ(schedule.bank.size(), 60 * 5);
  EXPECT_EQ(schedule.bank.fresh_pool.size(), 60U);
  std::set<int> ids;
  for (std::size_t k = 0; k < 60; ++k) {
    for (std::size_t stage = 0; stage < 5; ++stage) {
      ids.insert(schedule.ids[k][stage]);
      const FreshPermutation place = fresh_place(options, schedule.ids[k][stage]);
      EXPECT_EQ(place.client, k);
      EXPECT_EQ(place.stage, stage);
      EXPECT_FALSE(place.test);
    }
    EXPECT_EQ(schedule.test_ids[k], schedule.ids[k].back());
  }
  EXPECT_EQ(ids.size(), 300U);
  options.drift_mode = DriftMode::trDR_teDR;
  const Schedule drifting = tested_schedule(options, 1, 100);
  EXPECT_TRUE(fresh_place(options, drifting.test_ids[7]).test);
  EXPECT_EQ(fresh_place(options, drifting.test_ids[7]).client, 7U);
  EXPECT_EQ(drifting.bank.size(), 60 * 6);
}

TEST(FreshPermutations, AListOfSomeHasThatManyDistinctOnes) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND);
  options.shift = Shift::concept_label;
  options.perm_bank = 7;
  const Bank bank = tested_schedule(options, 1, 100).bank;
  ASSERT_EQ(bank.size(), 7);
  for (int a = 1; a <= 7; ++a) {
    std::set<std::int32_t> image;
    for (const std::int32_t label : bank.entry(a).recipe.label_of_class) {
      image.insert(label);
    }
    EXPECT_EQ(image.size(), 100U) << "a permutation";
    for (int b = 1; b < a; ++b) {
      EXPECT_NE(bank.entry(a).recipe, bank.entry(b).recipe);
    }
  }
}

TEST(NaturalSchedule, HasOneDistributionPerDomain) {
  ScenarioOptions options = scenario(DriftMode::trDR_teND);
  options.shift = Shift::natural;
  const Schedule schedule = tested_schedule(options, 1, 10, 4);
  EXPECT_EQ(schedule.bank.size(), 4);
  EXPECT_EQ(schedule.bank.entry(3).domain, 2);
}

}  // namespace
}  // namespace feroma
