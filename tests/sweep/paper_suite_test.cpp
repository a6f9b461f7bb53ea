// Every file of the reproduction suite makes the cells it should, none of which is refused. Nothing is trained.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "feroma/partition/pool.h"
#include "feroma/sweep/cells.h"
#include "tests/places.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

const fs::path kSweeps = test::source_file("configs/paper/sweeps");

/// Classes, training and test samples of the datasets that the suite uses.
struct Size {
  int classes;
  std::size_t train;
  std::size_t test;
};
const std::map<std::string, Size> kSizes{{"mnist", {10, 60'000, 10'000}},
                                         {"fmnist", {10, 60'000, 10'000}},
                                         {"cifar10", {10, 50'000, 10'000}},
                                         {"uci-har", {6, 7'352, 2'947}}};

std::vector<fs::path> suite() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kSweeps)) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// A file of the suite with one of its seeds, read once for all tests.
const Sweep& sweep_of(const std::string& name) {
  static std::map<std::string, Sweep> known;
  const auto found = known.find(name);
  return found != known.end() ? found->second
                              : known
                                    .emplace(name, read_sweep(kSweeps / (name + ".toml"),
                                                              {.seeds = {42}, .algorithms = {}, .overrides = {}}))
                                    .first->second;
}

TEST(PaperSuite, EveryCellOfEveryFileCanRun) {
  for (const fs::path& file : suite()) {
    const Sweep& sweep = sweep_of(file.stem());
    EXPECT_EQ(sweep.name, file.stem());
    for (const SweepCell& cell : sweep.cells) {
      const ScenarioOptions& scenario = cell.experiment.scenario;
      const auto size = kSizes.find(scenario.dataset);
      ASSERT_NE(size, kSizes.end()) << file << " " << scenario.dataset;
      Problems problems;
      scenario.check(size->second.classes, size->second.train, size->second.test, problems);
      EXPECT_TRUE(problems.messages().empty()) << file << " " << cell.point << ": " << problems.messages().front();
      EXPECT_FALSE(cell.experiment.training.standardise) << file;
    }
  }
}

TEST(PaperSuite, HasThePapersSeeds) {
  for (const fs::path& file : suite()) {
    std::ifstream in(file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const bool ours = file.stem() == "warmup_length";
    EXPECT_NE(text.find(ours ? "\nseeds = [42]\n" : "\nseeds = [42, 43, 44, 45, 46]\n"), std::string::npos) << file;
  }
}

TEST(PaperSuite, AllAlgorithmsOfEveryFileCanRunToo) {
  for (const fs::path& file : suite()) {
    // What differs between the cells of the large ones is in the small ones too.
    const bool large = file.stem() == "main_table_1" || file.stem() == "main_table_2" || file.stem() == "3x1_table";
    if (!large) {
      EXPECT_NO_THROW(static_cast<void>(read_sweep(file, {.seeds = {43}, .algorithms = {"all"}, .overrides = {}})))
          << file;
    }
  }
}

std::size_t cells_of(const std::string& name) { return sweep_of(name).cells.size(); }

TEST(PaperSuite, HasAsManyCellsAsTheTables) {
  EXPECT_EQ(cells_of("main_table_2"), 4U * 3 * 3 * 4) << "shifts, levels, drifts, algorithms";
  EXPECT_EQ(cells_of("main_table_1"), 3U * 4 * 3 * 3 * 4);
  for (const char* dataset : {"mnist", "fmnist", "cifar10"}) {
    for (const char* shift : {"px", "py", "pyx", "pxy"}) {
      EXPECT_EQ(cells_of(fmt::format("main_appe_{}_{}", dataset, shift)), 3U * 3 * 4);
    }
  }
  EXPECT_EQ(cells_of("pyx_few_sample_MNIST"), 3U * 3 * 2);
  EXPECT_EQ(cells_of("feroma_pyx_test_sample"), 3U * 6 * 2) << "levels, numbers of labels, presets";
  EXPECT_EQ(cells_of("n_client_all"), 4U * 4 * 4);
  EXPECT_EQ(cells_of("n_client_px"), 4U * 4);
  EXPECT_EQ(cells_of("dp_px_py"), 2U * 3 * (2 + 4 + 4)) << "without noise, with ours, with the published";
  EXPECT_EQ(cells_of("stoc_mnist_px_py"), 2U * 3 * 6);
  EXPECT_EQ(cells_of("3x1_table"), 4U * 3 * 3 * 4);
  EXPECT_EQ(cells_of("dft_py"), 3U * 3 * 4);
  EXPECT_EQ(cells_of("cola_px"), 3U * 3 * 4);
  EXPECT_EQ(cells_of("uci_har"), 5U * 4);
  EXPECT_EQ(cells_of("unseen"), 6U * 3 * 5);
  EXPECT_EQ(cells_of("warmup_length"), 4U * 4 * 2);
  EXPECT_EQ(cells_of("reb_2_100"), 3U);
  EXPECT_EQ(cells_of("reb_2_200"), 3U);
}

TEST(PaperSuite, TheTablesOfADatasetShareTheirCells) {
  std::set<std::string> keys;
  for (const char* shift : {"px", "py", "pyx", "pxy"}) {
    for (const SweepCell& cell : sweep_of(fmt::format("main_appe_mnist_{}", shift)).cells) {
      keys.insert(cell.key);
    }
  }
  for (const SweepCell& cell : sweep_of("main_table_2").cells) {
    EXPECT_TRUE(keys.contains(cell.key)) << cell.point;
  }
  EXPECT_EQ(keys.size(), 144U);
  for (const SweepCell& cell : sweep_of("unseen").cells) {
    const bool seen = cell.experiment.scenario.unseen_rate == 0 && cell.algorithm().label != "feroma-closed";
    EXPECT_EQ(keys.contains(cell.key), seen) << cell.point;
  }
  for (const SweepCell& cell : sweep_of("n_client_all").cells) {
    EXPECT_EQ(keys.contains(cell.key), cell.experiment.scenario.clients == 20) << cell.point;
  }
}

TEST(PaperSuite, DistancesOnDigitsShareTheCellsOfTheMainTables) {
  std::set<std::string> keys;
  for (const SweepCell& cell : sweep_of("main_appe_mnist_px").cells) {
    keys.insert(cell.key);
  }
  const Sweep digits =
      read_sweep(kSweeps / "dft_px.toml", {.seeds = {42}, .algorithms = {}, .overrides = {"scenario.dataset=mnist"}});
  ASSERT_EQ(digits.cells.size(), cells_of("dft_px"));
  for (const SweepCell& cell : digits.cells) {
    EXPECT_EQ(cell.experiment.scenario.dataset, "mnist");
    EXPECT_EQ(keys.contains(cell.key), cell.algorithm().label == "feroma-reference") << cell.point;
  }
}

/// What a cell computes: its settings without its label, and without what makes no difference to its data.
Settings work_of(const SweepCell& cell) {
  const ScenarioOptions& scenario = cell.experiment.scenario;
  const auto clients = static_cast<std::size_t>(scenario.clients);
  const auto stages = static_cast<std::size_t>(scenario.drifts);
  Settings settings = cell.experiment.resolved();
  settings.erase("algorithm.0.label");
  // Rules that repeat samples alike are one; so it is up to 20 clients with the paper's text and its code.
  const std::size_t share = kSizes.at(scenario.dataset).train / clients;
  const std::size_t rows = scaled_count(share, stages, clients, scale_rule(scenario));
  settings["scenario.scale_rule"] = {static_cast<std::int64_t>(rows), ""};
  if (scenario.unseen_rate == 0) {
    settings.erase("scenario.unseen_from");
  }
  return settings;
}

TEST(PaperSuite, NoWorkIsDoneTwiceUnderAnotherName) {
  std::map<std::string, std::string> names;
  for (const fs::path& file : suite()) {
    for (const SweepCell& cell : read_sweep(file, {.seeds = {42}, .algorithms = {"all"}, .overrides = {}}).cells) {
      const std::string name = fmt::format("{} {}", cell.algorithm().label, cell.key);
      const auto [found, is_new] = names.emplace(cell_hash(work_of(cell)), name);
      EXPECT_EQ(found->second, name) << file << " " << cell.point;
    }
  }
}

TEST(PaperSuite, SeesThatScaleRulesGiveTheSameDataToTwentyClients) {
  const auto work = [](int clients, const std::string& rule) {
    const std::vector<std::string> overrides{fmt::format("scenario.clients={}", clients),
                                             "scenario.scale_rule=" + rule};
    const SweepChanges changes{.seeds = {}, .algorithms = {"fedavg"}, .overrides = overrides};
    return cell_hash(work_of(read_sweep(kSweeps / "reb_1.toml", changes).cells.at(0)));
  };
  for (const int clients : {10, 20}) {
    EXPECT_EQ(work(clients, "auto"), work(clients, "paper")) << clients;
    EXPECT_NE(work(clients, "auto"), work(clients, "none")) << clients;
  }
  EXPECT_NE(work(50, "auto"), work(50, "paper"));
}

TEST(PaperSuite, VariesWhatItsTablesVary) {
  std::set<std::string> metrics;
  for (const SweepCell& cell : sweep_of("dft_px").cells) {
    const Settings& settings = cell.algorithm().settings;
    metrics.insert(to_string(settings.at("mapping.metric").value) + to_string(settings.at("assign.metric").value));
  }
  EXPECT_EQ(metrics.size(), 4U);
  std::set<int> labels;
  for (const SweepCell& cell : sweep_of("feroma_pyx_test_sample").cells) {
    labels.insert(cell.experiment.scenario.few_labels);
  }
  EXPECT_EQ(labels, (std::set<int>{1, 2, 5, 10, 20, 50}));
  for (const SweepCell& cell : sweep_of("reb_2_200").cells) {
    EXPECT_EQ(cell.experiment.scenario.rounds, 200);
    EXPECT_EQ(cell.experiment.scenario.drifts, 20);
  }
}

}  // namespace
}  // namespace feroma
