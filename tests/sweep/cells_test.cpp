#include "feroma/sweep/cells.h"

#include <gtest/gtest.h>

#include <set>

#include "sweep/cell_keys.h"
#include "tests/sweep/table_sweep.h"

namespace feroma {
namespace {

using test::holds;
using test::refusal_of;

class Cells : public test::TableSweep {
 protected:
  static std::vector<std::string> points(const Sweep& sweep) {
    std::vector<std::string> out;
    for (const SweepCell& cell : sweep.cells) {
      out.push_back(fmt::format("{} {} {}", cell.point, cell.algorithm().label, cell.experiment.scenario.seed));
    }
    return out;
  }
  std::string refusal(const std::string& text, const SweepChanges& changes = {}) const {
    return refusal_of(ErrorCode::invalid_config, [&] { static_cast<void>(sweep(text, changes)); });
  }
  [[nodiscard]] std::string key_of(const std::string& text) const { return sweep(text).cells.front().key; }
};

TEST_F(Cells, AreTheProductOfBasesAxesVariantsAlgorithmsAndSeeds) {
  write("other.toml", read_text(folder() / "base.toml"));
  const Sweep grid = sweep(
      "[sweep]\nbase = ['base.toml', 'other.toml']\nseeds = [1, 2]\n[axes]\nscenario.clients = [2, 3]\n"
      "[[variant]]\nname = 'short'\nscenario.rounds = 1\n[[variant]]\ntraining.batch_size = 8\n");
  EXPECT_EQ(grid.name, "grid");
  // The two bases hold the same, and the same cell is made once.
  const std::vector<std::string> expected{
      "base scenario.clients=2 short fedavg 1",
      "base scenario.clients=2 short fedprox 1",
      "base scenario.clients=2 training.batch_size=8 fedavg 1",
      "base scenario.clients=2 training.batch_size=8 fedprox 1",
      "base scenario.clients=3 short fedavg 1",
      "base scenario.clients=3 short fedprox 1",
      "base scenario.clients=3 training.batch_size=8 fedavg 1",
      "base scenario.clients=3 training.batch_size=8 fedprox 1",
  };
  std::vector<std::string> got = points(grid);
  ASSERT_EQ(got.size(), 16U);
  EXPECT_EQ(std::vector<std::string>(got.begin(), got.begin() + 8), expected);
  EXPECT_EQ(got[8], "base scenario.clients=2 short fedavg 2");
  EXPECT_EQ(grid.cells[2].experiment.training.fit.batch_size, 8);
  EXPECT_EQ(grid.cells[4].experiment.scenario.rounds, 1);
  EXPECT_EQ(grid.cells[4].experiment.algorithms.size(), 1U);
}

TEST_F(Cells, QuotedKeysAndSingleValuesWillDo) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\nseeds = 7\n[axes]\n'scenario.clients' = 3\n");
  ASSERT_EQ(grid.cells.size(), 2U);
  EXPECT_EQ(grid.cells[0].experiment.scenario.clients, 3);
  EXPECT_EQ(grid.cells[0].experiment.scenario.seed, 7);
  EXPECT_EQ(grid.cells[0].point, "base") << "what all cells have in common is no place in the grid";
}

TEST_F(Cells, HaveTheBasesSeedWhereTheSweepSaysNone) {
  EXPECT_EQ(sweep("[sweep]\nbase = 'base.toml'\n").cells[0].experiment.scenario.seed, 42);
}

TEST_F(Cells, ExplicitScenariosStandBesideTheProduct) {
  const Sweep grid = sweep(
      "[sweep]\nbase = 'base.toml'\nalgorithms = 'fedavg'\n[axes]\nscenario.clients = [2, 3]\n"
      "[[scenario]]\nname = 'large'\nscenario.clients = 5\n[[scenario]]\nbase = 'base.toml'\nscenario.rounds = 1\n");
  EXPECT_EQ(points(grid),
            (std::vector<std::string>{"base scenario.clients=2 fedavg 42", "base scenario.clients=3 fedavg 42",
                                      "base large fedavg 42", "base scenario.rounds=1 fedavg 42"}));
  EXPECT_EQ(grid.cells[2].experiment.scenario.clients, 5);
}

TEST_F(Cells, OwnAlgorithmsReplaceThoseOfTheBase) {
  const Sweep own = sweep("[sweep]\nbase = 'base.toml'\n[[algorithm]]\nname = 'fedprox'\nlabel = 'mine'\nmu = 0.5\n");
  ASSERT_EQ(own.cells.size(), 1U);
  EXPECT_EQ(own.cells[0].algorithm().label, "mine");
  write("methods.toml", "[[algorithm]]\nname = 'local'\n");
  const Sweep from = sweep("[sweep]\nbase = 'base.toml'\nalgorithms_from = 'methods.toml'\n");
  ASSERT_EQ(from.cells.size(), 1U);
  EXPECT_EQ(from.cells[0].algorithm().label, "local");
}

TEST_F(Cells, AlgorithmsAreChosenByLabel) {
  const std::string grid = "[sweep]\nbase = 'base.toml'\nalgorithms = ['fedprox']\n";
  EXPECT_EQ(points(sweep(grid)), std::vector<std::string>{"base fedprox 42"});
  EXPECT_EQ(sweep(grid, {.seeds = {}, .algorithms = {"fedavg"}, .overrides = {}}).cells[0].algorithm().label, "fedavg");
  EXPECT_EQ(sweep(grid, {.seeds = {}, .algorithms = {"all"}, .overrides = {}}).cells.size(), 2U);
  const Sweep narrowed = sweep(
      "[sweep]\nbase = 'base.toml'\n[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\n"
      "algorithms = ['fedprox']\nscenario.rounds = 1\n");
  EXPECT_EQ(points(narrowed), (std::vector<std::string>{"base a fedavg 42", "base a fedprox 42", "base b fedprox 42"}));
}

TEST_F(Cells, AlgorithmsNobodyWantsNeedNotFit) {
  // feroma is to warm up for five rounds, and there are three.
  const std::string text =
      "[sweep]\nbase = 'base.toml'\n[[algorithm]]\nname = 'fedavg'\n[[algorithm]]\nname = 'feroma'\n"
      "warmup_rounds = 5\n";
  EXPECT_TRUE(holds(refusal(text), "warmup_rounds must be < scenario.rounds (3), got 5"));
  EXPECT_EQ(sweep(text, {.seeds = {}, .algorithms = {"fedavg"}, .overrides = {}}).cells.size(), 1U);
}

TEST_F(Cells, TheCommandLineHasTheLastWord) {
  const SweepChanges changes{.seeds = {5, 6}, .algorithms = {}, .overrides = {"scenario.clients=4"}};
  const Sweep grid = sweep(
      "[sweep]\nbase = 'base.toml'\nseeds = [1, 2, 3]\nalgorithms = 'fedavg'\n[axes]\nscenario.clients = [2, 3]\n",
      changes);
  ASSERT_EQ(grid.cells.size(), 2U) << "the axis is gone, and its cells are the same";
  EXPECT_EQ(grid.cells[1].experiment.scenario.seed, 6);
  EXPECT_EQ(grid.cells[1].experiment.scenario.clients, 4);
}

TEST_F(Cells, SeedsOfTheCommandLineAreLeftToSeeds) {
  for (const char* text : {"[sweep]\nbase = 'base.toml'\nseeds = [1, 2]\n", "[sweep]\nbase = 'base.toml'\n"}) {
    for (const char* assignment : {"scenario.seed=7", " scenario.seed = 7"}) {
      for (const std::vector<std::int64_t>& seeds : {std::vector<std::int64_t>{}, std::vector<std::int64_t>{5}}) {
        EXPECT_TRUE(holds(refusal(text, {.seeds = seeds, .algorithms = {}, .overrides = {assignment}}),
                          "--set scenario.seed must be left to --seeds (with make reproduce to SEEDS), got 7"));
      }
    }
  }
}

TEST_F(Cells, KeysAreTheHashOfTheResolvedConfig) {
  const Sweep grid = sweep("[sweep]\nbase = 'base.toml'\n");
  const SweepCell& cell = grid.cells[1];
  EXPECT_EQ(cell.config, to_toml(cell.experiment.resolved()));
  EXPECT_EQ(cell.hash, cell_hash(cell.experiment.resolved()));
  EXPECT_EQ(cell.hash, cell_hash(parse_settings(cell.config, "config.toml"))) << "as it is read back";
  EXPECT_EQ(cell.key, cell.hash.substr(0, 16));
}

TEST_F(Cells, ThatDifferMustNotHaveOneKey) {
  const SweepCell cell = sweep("[sweep]\nbase = 'base.toml'\n").cells[0];
  detail::CellKeys keys;
  EXPECT_TRUE(keys.insert(cell));
  EXPECT_FALSE(keys.insert(cell)) << "the same cell is made once";
  SweepCell other = cell;
  other.hash.back() = cell.hash.back() == '0' ? '1' : '0';
  EXPECT_TRUE(holds(refusal_of(ErrorCode::invalid_config, [&] { static_cast<void>(keys.insert(other)); }),
                    "differ and have one key, " + cell.key));
}

TEST_F(Cells, KeysDoNotDependOnWhereThingsLie) {
  const std::string grid =
      "[sweep]\nbase = 'base.toml'\n[[variant]]\nprivacy.mode = 'gaussian'\n"
      "[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 1\n";
  const SweepCell here = sweep(grid).cells[0];
  const SweepCell there = sweep(grid, {.seeds = {},
                                       .algorithms = {},
                                       .overrides = {"scenario.data_dir=" + folder().string(), "privacy.ledger=safe"}})
                              .cells[0];
  EXPECT_NE(here.config, there.config);
  EXPECT_EQ(here.key, there.key);
}

TEST_F(Cells, KeysDoNotDependOnHowAConfigIsWritten) {
  const std::string key = key_of("[sweep]\nbase = 'base.toml'\n");
  write("wordy.toml", read_text(folder() / "base.toml") + "mu = 0.01\n# nothing new\n");
  EXPECT_EQ(key_of("[sweep]\nname = 'other'\nbase = 'wordy.toml'\nseeds = [42]\n[axes]\ntraining.momentum = 0.9\n"),
            key);
  EXPECT_EQ(key_of("[sweep]\nbase = 'base.toml'\n[[algorithm]]\nname = 'fedavg'\n"), key)
      << "its neighbours in the file are no matter";
}

TEST_F(Cells, KeysDoNotDependOnHowOftenRoundsAreTested) {
  const SweepCell plain = sweep("[sweep]\nbase = 'base.toml'\n").cells[1];
  for (const std::int64_t every : {0, 1, 7}) {
    Settings settings = plain.experiment.resolved();
    settings["evaluation.every"] = {every, "test"};
    EXPECT_EQ(make_cell(read_experiment(settings), "").key, plain.key);
    EXPECT_EQ(cell_hash(settings), plain.hash) << "as a kept cell's config has it";
  }
}

TEST_F(Cells, KeysDependOnEveryResolvedValue) {
  const Experiment plain = sweep("[sweep]\nbase = 'base.toml'\n").cells[1].experiment;
  std::set<std::string> keys{make_cell(plain, "").key};
  std::size_t changed = 0;
  for (const auto& [key, setting] : plain.resolved()) {
    Settings settings = plain.resolved();
    SettingValue& value = settings[key].value;
    if (auto* integer = std::get_if<std::int64_t>(&value)) {
      *integer += 1;
    } else if (auto* number = std::get_if<double>(&value)) {
      *number = *number == 0 ? 0.25 : *number / 2;
    } else if (auto* flag = std::get_if<bool>(&value)) {
      *flag = !*flag;
    } else if (key == "algorithm.0.label") {
      value = std::string("other");
    } else {
      continue;
    }
    std::string key_now;
    try {
      key_now = make_cell(read_experiment(settings), "").key;
    } catch (const Error&) {
      continue;  // the value has no meaning beside the others
    }
    ++changed;
    EXPECT_TRUE(keys.insert(key_now).second) << key;
  }
  EXPECT_GT(changed, 40U);
}

TEST_F(Cells, EveryMistakeIsReportedAtOnce) {
  const std::string text =
      "[sweep]\nbase = ['base.toml', 'nowhere.toml']\nseedz = [1]\nseeds = [1, -2]\nalgorithms = ['fedavgg']\n"
      "[axis]\nscenario.rounds = [1]\n[axes]\nscenario.levle = ['low']\nscenario.clients = [0]\nscenario.seed = [3]\n"
      "training.momentum = []\nalgorithm.7.mu = [1]\n[[variant]]\nscenario.rounds = [1, 2]\n";
  const std::string message = refusal(text, {.seeds = {}, .algorithms = {}, .overrides = {"scenario.participation"}});
  const std::string file = (folder() / "grid.toml").string();
  for (const std::string& part : {
           file + ":3: unknown key sweep.seedz; did you mean sweep.seeds?",
           file + ":4: sweep.seeds must be an integer >= 0 or a list of them, got [1, -2]",
           file + ":5: sweep.algorithms must name algorithms by their labels (fedavg, fedprox), got \"fedavgg\"; did "
                  "you mean "
                  "\"fedavg\"?",
           file + ":7: unknown table axis; did you mean the table axes?",
           file + ":9: unknown key scenario.levle; did you mean scenario.level?",
           file + ":10: scenario.clients must be >= 1, got 0",
           file + ":11: axes.scenario.seed must be left to sweep.seeds",
           file + ":12: axes.training.momentum must be at least one value, got []",
           file + ":13: algorithm.7.mu must begin with algorithm.N, N from 0 to 1",
           file + ":15: variant.0.scenario.rounds must be one value; lists belong under [axes], got [1, 2]",
           (folder() / "nowhere.toml").string() + ": there is no such config file",
           std::string("--set must be key=value, got \"scenario.participation\""),
       }) {
    EXPECT_TRUE(holds(message, part));
  }
}

// A cell has one algorithm; its number in there says nothing to whoever wrote the files.
TEST_F(Cells, MistakesInACellNameTheAlgorithm) {
  const std::string message =
      refusal("[sweep]\nbase = 'base.toml'\n[[variant]]\nname = 'odd'\nalgorithm.fedprox.mu = -1\n");
  EXPECT_TRUE(holds(message, "algorithm.fedprox.mu must be"));
  EXPECT_FALSE(message.find("algorithm.0") != std::string::npos) << message;
}

TEST_F(Cells, AlgorithmsMayBeCalledByTheirLabels) {
  const Sweep by_label = sweep("[sweep]\nbase = 'base.toml'\n[axes]\nalgorithm.fedprox.mu = [0.5]\n");
  const Sweep by_number = sweep("[sweep]\nbase = 'base.toml'\n[axes]\nalgorithm.1.mu = [0.5]\n");
  ASSERT_EQ(by_label.cells.size(), 2U);
  EXPECT_EQ(by_label.cells[1].hash, by_number.cells[1].hash);
  const Sweep overridden = sweep("[sweep]\nbase = 'base.toml'\n",
                                 {.seeds = {}, .algorithms = {}, .overrides = {"algorithm.fedprox.mu=0.5"}});
  EXPECT_EQ(overridden.cells[1].hash, by_number.cells[1].hash);
}

TEST_F(Cells, ASweepNeedsSomethingToRun) {
  EXPECT_TRUE(holds(refusal("[sweep]\nname = 'x'\n"), "grid.toml: sweep.base must name a scenario file"));
  EXPECT_TRUE(
      holds(refusal("[axes]\nscenario.clients = [2]\n"), "sweep.base must name the scenario files that [axes]"));
  EXPECT_TRUE(holds(refusal("[[scenario]]\nscenario.clients = 2\n"), "scenario.0.base must name a scenario file"));
  EXPECT_TRUE(holds(refusal("[sweep]\nbase = 'base.toml'\nname = 'a/b'\n"), "sweep.name must be one name"));
  EXPECT_TRUE(holds(refusal("[sweep]\nbase = 'base.toml'\n[scenario]\nclients = 2\n"), "written [[scenario]]"));
  EXPECT_TRUE(
      holds(refusal("[sweep]\nbase = 'base.toml'\nalgorithms_from = 'base.toml'\n[[algorithm]]\nname = 'local'\n"),
            "sweep.algorithms_from must be left out"));
  EXPECT_TRUE(holds(refusal("[sweep]\nbase = 'base.toml'\n[[variant]]\nname = 'a'\nalgorithms = ['nobody']\n"),
                    "variant.0.algorithms must name algorithms by their labels"));
  write("empty.toml", "[scenario]\nclients = 3\n");
  EXPECT_TRUE(holds(refusal("[sweep]\nbase = 'empty.toml'\n"), "empty: algorithm: a run needs at least one"));
}

TEST_F(Cells, AGridTooLargeIsRefusedBeforeItIsMade) {
  std::string text = "[sweep]\nbase = 'base.toml'\n[axes]\n";
  for (const char* key : {"clients", "rounds", "drifts", "samples_per_client", "few_labels", "test_clients"}) {
    text += fmt::format("scenario.{} = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n", key);
  }
  EXPECT_TRUE(holds(refusal(text), "a sweep must have at most 100000 cells of an algorithm, got 1000000"));
}

}  // namespace
}  // namespace feroma
