#include "feroma/algorithms/finetune.h"

#include <gtest/gtest.h>

#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::ToyRun;

/// Long enough for Feroma to be past its warm-up.
ScenarioOptions long_scenario() {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 9;
  return scenario;
}

ResultRecord result_of(ToyRun& run, const std::string& algorithm) {
  RoundLoop loop = run.loop(algorithm);
  test::play_all(loop);
  return loop.evaluate();
}

TEST(Finetune, TrainsAsTheSystemItStartsFrom) {
  for (const std::string start : {"fedavg", "feroma"}) {
    ToyRun run(long_scenario());
    RoundLoop plain = run.loop("name = '" + start + "'");
    RoundLoop tuned = run.loop("name = 'finetune'\nstart = '" + start + "'");
    test::play_all(plain);
    test::play_all(tuned);
    EXPECT_EQ(test::served_bits(tuned.algorithm()), test::served_bits(plain.algorithm()));
    EXPECT_EQ(tuned.totals().bytes_down, plain.totals().bytes_down);
    EXPECT_EQ(tuned.evaluate().accuracy, plain.evaluate().accuracy) << "labels are for the few-label policy alone";
    EXPECT_EQ(plain.algorithm().served().size() > 1, start == "feroma");
  }
}

TEST(Finetune, NoStepsLeaveTheAssignedModel) {
  ToyRun run(long_scenario());
  const std::string still = "name = 'finetune'\nsteps = 0\n";
  EXPECT_EQ(result_of(run, still + "start = 'feroma'").accuracy_few_label,
            result_of(run, "name = 'feroma'").accuracy_few_label);
  ToyRun again(long_scenario());
  const ResultRecord fedavg = result_of(again, still);
  EXPECT_TRUE(fedavg.accuracy_few_label.has_value()) << "one model for all is a start as well";
  EXPECT_FALSE(result_of(again, "name = 'fedavg'").accuracy_few_label.has_value());
}

TEST(Finetune, StepsHelpWhereLabelsMeanSomethingElse) {
  ScenarioOptions scenario = long_scenario();
  scenario.shift = Shift::concept_label;
  ToyRun run(scenario);
  const std::string rate = "name = 'finetune'\nlearning_rate = 0.2\n";
  const double none = result_of(run, "name = 'finetune'\nsteps = 0").accuracy_few_label.value();
  const double few = result_of(run, rate + "steps = 5").accuracy_few_label.value();
  const double many = result_of(run, rate + "steps = 60").accuracy_few_label.value();
  EXPECT_GT(few, none);
  EXPECT_GT(many, few);
  EXPECT_NE(result_of(run, "name = 'finetune'\nlearning_rate = 0.05\nsteps = 5").accuracy_few_label.value(), few);
}

TEST(Finetune, RefusesAStepSizeWithoutSteps) {
  Problems problems;
  FinetuneOptions options;
  options.steps = 0;
  options.learning_rate = 0.1;
  options.check({}, problems, "algorithm.0");
  ASSERT_EQ(problems.messages().size(), 1U);
  EXPECT_NE(problems.messages()[0].find("algorithm.0.learning_rate"), std::string::npos);
}

}  // namespace
}  // namespace feroma
