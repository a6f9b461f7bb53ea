#include "feroma/runtime/test_plan.h"

#include <gtest/gtest.h>

#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

/// An experiment on toy data with 20 rounds.
class TestPlanTest : public testing::Test {
 protected:
  TestPlanTest() {
    experiment.scenario = test::toy_scenario();
    experiment.scenario.rounds = 20;
    experiment.training.fit.local_epochs = 2;
  }

  TestPlan plan(std::vector<AlgorithmCheck> checks) const {
    const Federation federation(test::toy_dataset(), experiment.scenario);
    return plan_tests(experiment, federation, test::toy_model(federation.shape(), federation.classes()), checks);
  }
  static AlgorithmCheck serving(std::int64_t forward) {
    AlgorithmCheck check;
    check.to_serve = {forward, 0};
    return check;
  }

  Experiment experiment;
};

TEST_F(TestPlanTest, TheDefaultTestsAsOftenAsItMay) {
  const TestPlan one = plan({serving(1)});
  EXPECT_GE(one.every, 1);
  EXPECT_LE(one.share, kMostForTests);
  const TestPlan many = plan({serving(6)});
  EXPECT_GT(many.every, one.every);
  EXPECT_LE(many.share, kMostForTests);
  experiment.evaluation.every = many.every - 1;
  EXPECT_GT(plan({serving(6)}).share, kMostForTests) << "one round less costs too much";
}

TEST_F(TestPlanTest, WhatIsTooDearLeavesTheLastRoundWhichCostsNothing) {
  const TestPlan dear = plan({serving(100000)});
  EXPECT_EQ(dear.every, 20);
  EXPECT_EQ(dear.share, 0);
  experiment.training.fit.local_epochs = 0;
  EXPECT_EQ(plan({serving(1)}).every, 20) << "nothing is trained beside which a test is cheap";
}

TEST_F(TestPlanTest, MixingManyModelsForEverybodyCosts) {
  AlgorithmCheck mixing = serving(1);
  mixing.mixed_to_serve = 1000;
  EXPECT_GT(plan({mixing}).every, plan({serving(1)}).every);
}

TEST_F(TestPlanTest, StrangersCostWhatTheyCostWhereThereAreSome) {
  AlgorithmCheck asks = serving(1);
  asks.to_serve_stranger = {1000, 0};
  experiment.scenario.level = Level::medium;
  experiment.scenario.unseen_rate = 1;
  EXPECT_EQ(plan({asks}).every, 20);
  experiment.scenario.unseen_rate = 0;
  experiment.scenario.drift_mode = DriftMode::fixed;
  experiment.scenario.drifts = 1;
  EXPECT_EQ(plan({asks}).every, plan({serving(1)}).every) << "everybody is tested on its own";
}

TEST_F(TestPlanTest, ANumberThatIsGivenStands) {
  for (const int every : {0, 1, 7}) {
    experiment.evaluation.every = every;
    EXPECT_EQ(plan({serving(100)}).every, every);
  }
  experiment.evaluation.every = 0;
  EXPECT_EQ(plan({serving(100)}).share, 0);
}

TEST_F(TestPlanTest, MethodsThatAreNotRunOrNotTestedCostNothing) {
  AlgorithmCheck left_out = serving(100000);
  left_out.not_applicable = "several labels";
  EXPECT_EQ(plan({serving(1), left_out}).every, plan({serving(1)}).every);
  EXPECT_LE(plan({serving(1), serving(0)}).every, plan({serving(1)}).every) << "one whose tests spend a budget";
}

}  // namespace
}  // namespace feroma
