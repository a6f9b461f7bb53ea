// The files that compare systems name algorithms and options that exist; nothing is trained.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "feroma/algorithms/registry.h"
#include "feroma/runtime/experiment.h"
#include "tests/places.h"

namespace feroma {
namespace {

Experiment experiment_of(const std::string& name) {
  return read_experiment(load_settings(test::source_file("configs") / name));
}

// Before any test registers a method of its own.
const std::vector<std::string> kBuiltIn = [] {
  std::vector<std::string> names;
  for (const AlgorithmEntry& entry : known_algorithms()) {
    names.push_back(entry.name);
  }
  return names;
}();

std::set<std::string> labels_of(const Experiment& experiment) {
  std::set<std::string> labels;
  for (const AlgorithmPlan& plan : experiment.algorithms) {
    labels.insert(plan.label);
  }
  return labels;
}

TEST(ComparisonFiles, CompatHasTheScenarioOfCompareAndEachMethodBesideItsPublicCode) {
  const Experiment compare = experiment_of("compare.toml");
  const Experiment compat = experiment_of("compat.toml");
  EXPECT_EQ(compat.scenario.dataset, compare.scenario.dataset);
  EXPECT_EQ(compat.scenario.level, compare.scenario.level);
  EXPECT_EQ(compat.scenario.drifts, compare.scenario.drifts);
  EXPECT_EQ(compat.scenario.clients, compare.scenario.clients);
  EXPECT_EQ(compat.scenario.rounds, compare.scenario.rounds);
  const std::set<std::string> labels = labels_of(compat);
  EXPECT_EQ(labels.size(), compat.algorithms.size());
  const std::set<std::string> compared = labels_of(compare);
  for (const std::string& label : labels) {
    const std::string method = label.substr(0, label.find('-'));
    EXPECT_TRUE(compared.contains(method)) << method;
    EXPECT_TRUE(labels.contains(method)) << label << " stands alone";
  }
}

// A row that is left as its paper has it would explain nothing.
TEST(ComparisonFiles, EveryRowOfCompatDiffersFromItsMethod) {
  const Experiment compat = experiment_of("compat.toml");
  std::map<std::string, Settings> plain;
  for (const AlgorithmPlan& plan : compat.algorithms) {
    if (plan.label.find('-') == std::string::npos) {
      plain[plan.label] = plan.settings;
    }
  }
  for (const AlgorithmPlan& plan : compat.algorithms) {
    const auto dash = plan.label.find('-');
    if (dash == std::string::npos) {
      continue;
    }
    int changed = 0;
    for (const auto& [key, setting] : plain.at(plan.label.substr(0, dash))) {
      changed += plan.settings.at(key).value == setting.value ? 0 : 1;
    }
    EXPECT_GT(changed, 0) << plan.label;
  }
}

/// A row of the table in docs/decisions/010-strong-opponents.md.
struct PublicSwitch {
  std::vector<std::string> methods;
  std::string option;
  SettingValue value;
};

const std::vector<PublicSwitch> kPublicSwitches{
    {{"ifca", "fesem"}, "empty", "zero"},
    {{"fesem"}, "distance", "tensor_norms"},
    {{"fesem"}, "moved", "untrained"},
    {{"fesem"}, "first_round", "all"},
    {{"cfl"}, "norm", "largest_coordinate"},
    {{"cfl"}, "split_members", "positions"},
    {{"cfl"}, "split_round", "discard"},
    {{"cfl"}, "weights", "uniform"},
    {{"fedavg", "apfl", "ifca", "fesem", "cfl", "fedem", "fedrc"}, "momentum_reset", "never"},
    {{"fedrc"}, "absent_labels", "keep"},
    {{"fedrc"}, "test_priors", "uniform"},
    {{"feddrift"}, "local_steps", std::int64_t{5}},
    {{"pfedme"}, "variant", "prox_local"},
    {{"apfl"}, "variant", "fixed_half"},
    {{"apfl"}, "strangers", "with_untrained"},
    {{"fedproto"}, "weights", "uniform"},
    {{"fedproto"}, "source", "last_epoch"},
    {{"fedgps"}, "match_classes", false},
    {{"foogd"}, "score_target", "scaled"},
    {{"foogd"}, "kernel_gradients", "trace"},
    {{"cola"}, "statistics", "previous"},
};

TEST(ComparisonFiles, CompatHasARowForEverySwitchOfDecision010) {
  const Experiment compat = experiment_of("compat.toml");
  for (const PublicSwitch& known : kPublicSwitches) {
    for (const std::string& method : known.methods) {
      bool somewhere = false;
      for (const AlgorithmPlan& plan : compat.algorithms) {
        if (plan.name != method) {
          continue;
        }
        const bool set = plan.settings.at(known.option).value == known.value;
        EXPECT_FALSE(set && plan.label == method) << method << "." << known.option << " is off by default";
        somewhere = somewhere || set;
      }
      EXPECT_TRUE(somewhere) << method << "." << known.option;
    }
  }
}

TEST(ComparisonFiles, CompareHasEveryMethodOnce) {
  // It needs labels of the test client and stands in configs/test-time.toml.
  const std::set<std::string> elsewhere{"finetune"};
  std::map<std::string, int> rows;
  for (const AlgorithmPlan& plan : experiment_of("compare.toml").algorithms) {
    ++rows[plan.name];
  }
  for (const std::string& name : kBuiltIn) {
    EXPECT_EQ(rows[name], elsewhere.contains(name) ? 0 : 1) << name;
  }
  const std::set<std::string> tested = [] {
    std::set<std::string> names;
    for (const AlgorithmPlan& plan : experiment_of("test-time.toml").algorithms) {
      names.insert(plan.name);
    }
    return names;
  }();
  EXPECT_TRUE(std::includes(tested.begin(), tested.end(), elsewhere.begin(), elsewhere.end()));
}

}  // namespace
}  // namespace feroma
