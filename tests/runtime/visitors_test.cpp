// What `assign` and `predict` give a test client of a run, method by method: what the run itself served, or a refusal.
#include <gtest/gtest.h>

#include <map>

#include "feroma/core/files.h"
#include "feroma/evaluation/test_scores.h"
#include "feroma/runtime/assigned.h"
#include "feroma/runtime/run.h"
#include "tests/algorithms/every_algorithm.h"
#include "tests/core/temp_folder.h"

namespace feroma {
namespace {

using test::AlgorithmCase;

constexpr int kClients = 4;

/// A method and what is changed of it.
struct VisitCase {
  std::string name;
  std::string toml;
};

void PrintTo(const VisitCase& one, std::ostream* out) { *out << one.toml; }

/// Every row of the registry, and the options that change who serves a test client.
std::vector<VisitCase> every_way() {
  std::vector<VisitCase> cases;
  for (const AlgorithmCase& one : test::all_algorithms()) {
    std::string toml = test::toml_of(one);
    if (one.name == "feroma" && one.preset == "auto") {
      toml += "assign.strangers = 'profile'\n";  // visitors are not sent all models to choose by confidence
    }
    cases.push_back({one.name + one.preset, toml});
  }
  for (const auto& [name, change] :
       std::vector<std::pair<std::string, std::string>>{{"atp", "mode = 'online'"},
                                                        {"atp", "start = 'feroma'"},
                                                        {"cola", "role = 'principal'"},
                                                        {"cola", "start = 'feroma'"},
                                                        {"finetune", "start = 'feroma'"},
                                                        {"apfl", "strangers = 'with_untrained'"}}) {
    cases.push_back({name + std::to_string(cases.size()), "name = '" + name + "'\n" + change + "\n"});
  }
  for (VisitCase& one : cases) {
    std::erase(one.name, '-');
  }
  return cases;
}

/// Three classes of 4 x 4 values with means far enough apart to be learned and near enough to be mistaken.
void write_table(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Rng rng(7);
  std::string csv = "y";
  for (int i = 0; i < 16; ++i) {
    csv += fmt::format(",x{}", i);
  }
  for (int row = 0; row < 500; ++row) {
    csv += fmt::format("\n{}", row % 3);
    for (int i = 0; i < 16; ++i) {
      csv += fmt::format(",{:.3f}", (i % 3 == row % 3 ? 0.5 : 0) + rng.normal());
    }
  }
  write_file_atomically(folder / "table.csv", csv + "\n");
  write_file_atomically(folder / "dataset.toml",
                        std::string_view("[dataset]\nkind = 'csv'\nfile = 'table.csv'\nlabel_column = 'y'\n"
                                         "classes = 3\nshape = '1x4x4'\n"));
}

class Visitors : public ::testing::TestWithParam<VisitCase> {
 protected:
  ResultRecord run() {
    write_table(folder / "data");
    experiment = read_experiment(parse_settings(
        fmt::format("[scenario]\ndataset = '{}'\nshift = 'label_prior'\nbank = 3\nclasses_per_entry = 2\nclients = "
                    "{}\nrounds = 3\ndrifts = 2\n"
                    "[training]\nmodel = 'mlp'\nbatch_size = 16\nlearning_rate = 0.05\n[[algorithm]]\n{}",
                    (folder / "data").string(), kClients, GetParam().toml),
        "test"));
    RunOptions options;
    options.out = folder / "run";
    return run_experiment(experiment, options, stop).front();
  }

  /// The mean over the test clients; a refusal instead where there is one.
  std::variant<double, std::string> mean_accuracy(bool few_labels) {
    const auto federation = make_federation(experiment);
    const OpenedStore store = open_store(folder / "run", "");
    double sum = 0;
    for (int i = 0; i < kClients; ++i) {
      const TestShard shard = federation->test(static_cast<ClientId>(i), kFewLabels);
      try {
        write_assigned(folder / "assigned", assign_from(store, {shard.data, few_labels ? &shard.few_labels : nullptr},
                                                        {few_labels, 64}, nullptr));
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
        return error.what();
      }
      const Assigned assigned = read_assigned(folder / "assigned");
      adapts = assigned.offer.adaptation.has_value();
      const std::span<const float> values = assigned.offer.models.front()->values();
      model.assign(values.begin(), values.end());
      const std::unique_ptr<Engine> engine = visitor_engine(store.experiment, store.model);
      Trainer trainer(*engine);
      sum += score(*make_predictor(assigned.offer), trainer, shard.data).accuracy();
    }
    return sum / kClients;
  }

  feroma::test::TempFolder folder;
  Experiment experiment;
  std::atomic<bool> stop = false;
  bool adapts = false;       ///< the last visitor
  std::vector<float> model;  ///< its first one
};

TEST_P(Visitors, GetWhatTheRunServedOrARefusalThatNamesTheMethod) {
  const ResultRecord result = run();
  const std::string label = experiment.algorithms.front().label;
  std::vector<float> unlabelled;
  for (const bool few_labels : {false, true}) {
    const std::optional<double> served = few_labels ? result.accuracy_few_label : std::optional(result.accuracy);
    const auto got = mean_accuracy(few_labels);
    if (const auto* refusal = std::get_if<std::string>(&got)) {
      EXPECT_TRUE(refusal->starts_with(label + ": ")) << *refusal;
      continue;
    }
    // A method without a rule for labels serves whoever has some as it serves everybody; and so do those by whose rule
    // labels choose among models that are their clients' own.
    const std::string& name = experiment.algorithms.front().name;
    const bool keeps_models = name == "pfedme" || name == "apfl" || name == "ditto";
    const double expected = keeps_models ? result.accuracy : served.value_or(result.accuracy);
    // Steps on a few labels take them in an order of the client's own; moments of labels do not leave a visitor.
    const std::string& preset = experiment.algorithms.front().preset;
    const bool other_rule = name == "finetune" || preset == "paper" || preset == "reference";
    // Preset paper draws masks of a test client's samples, each time others.
    const double slack = (few_labels && other_rule) || preset == "paper" ? 10 : 1e-9;
    EXPECT_TRUE(name != "finetune" || !few_labels || model != unlabelled) << "nothing was tuned";
    unlabelled = model;
    EXPECT_NEAR(std::get<double>(got), expected, slack) << (few_labels ? "few labels" : "no labels");
  }
  EXPECT_EQ(adapts, experiment.algorithms.front().name == "atp");
}

INSTANTIATE_TEST_SUITE_P(EveryMethod, Visitors, ::testing::ValuesIn(every_way()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace feroma
