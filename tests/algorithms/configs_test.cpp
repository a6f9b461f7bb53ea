// The files that compare systems name algorithms and options that exist; nothing is trained.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "feroma/algorithms/registry.h"
#include "feroma/runtime/experiment.h"

namespace feroma {
namespace {

Experiment experiment_of(const std::string& name) {
  return read_experiment(load_settings(std::filesystem::path(FEROMA_SOURCE_DIR) / "configs" / name));
}

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

}  // namespace
}  // namespace feroma
