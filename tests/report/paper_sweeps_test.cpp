// Every sweep of the reproduction suite that goes by the name of a published table has all of that table's methods and,
// run with all of them, fills every cell that it has data for. Nothing is trained: results are made up.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "feroma/report/published.h"
#include "feroma/sweep/cells.h"
#include "src/report/paper_layout.h"
#include "src/report/paper_map.h"
#include "tests/places.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

const fs::path kSweeps = test::source_file("configs/paper/sweeps");

/// What a sweep would leave behind, with every figure that a run can have.
RunSet finished(const Sweep& sweep) {
  RunSet set;
  for (const SweepCell& cell : sweep.cells) {
    ResultRecord result = test::sample_result(cell.algorithm().label, 70);
    result.algorithm = cell.algorithm().name;
    result.accuracy_few_label = 69;
    result.seed = cell.experiment.scenario.seed;
    set.runs.push_back({cell.key, cell.experiment.resolved(), cell.experiment.resolved(), Summary{{}, {result}}});
  }
  return set;
}

/// Datasets of main_table_1 that no sweep has: they need larger models, or are not free. No published method is left
/// out: all twelve are ours too.
const std::set<std::string> kDatasetsLeftOut{"CIFAR-100", "CheXpert", "Office-Home"};

/// Every figure of the table must have a result of the sweep with all of its algorithms; how many figures those are.
std::size_t expect_filled(const std::string& table, const Sweep& sweep) {
  const RunSet set = finished(sweep);
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(set, notes);
  std::size_t figures = 0;
  for (const PublishedFigure& figure : published_figures()) {
    if (figure.table != table || kDatasetsLeftOut.contains(figure.dataset)) {
      continue;
    }
    ++figures;
    for (const detail::PaperCell& cell : detail::cells_of(figure)) {
      EXPECT_TRUE(std::any_of(results.begin(), results.end(),
                              [&](const OurResult& result) {
                                return cell.met_by(set.runs[result.run], result) && !cell.is_variant(result) &&
                                       detail::pick(cell.figure, result.result).has_value();
                              }))
          << table << ": " << figure.dataset << " " << figure.shift << " " << figure.level << " " << figure.drift << " "
          << figure.clients << " " << figure.method << " " << figure.variant;
    }
  }
  return figures;
}

/// The preset whose implementation made the published figures is among the algorithms; in the tables of privacy the one
/// with the equations as printed, to which the published noise belongs.
void expect_published_implementation(const std::string& table, const Sweep& sweep) {
  const std::string label = table.starts_with("dp_") ? "feroma-paper" : "feroma-reference";
  EXPECT_TRUE(std::any_of(sweep.cells.begin(), sweep.cells.end(),
                          [&](const SweepCell& cell) { return cell.algorithm().label == label; }))
      << table << ": " << label;
}

TEST(PaperSweeps, FillTheTablesThatTheyAreNamedAfter) {
  std::set<std::string> tables;
  for (const PublishedFigure& figure : published_figures()) {
    if (detail::layout_of(figure.table).kind == detail::PaperLayout::Kind::cells) {
      tables.insert(figure.table);
    }
  }
  std::size_t named = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kSweeps)) {
    const std::string name = entry.path().stem().string();
    if (tables.contains(name)) {
      ++named;
      const Sweep sweep = read_sweep(entry.path(), {.seeds = {42}, .algorithms = {"all"}, .overrides = {}});
      EXPECT_GT(expect_filled(name, sweep), 0U) << name;
      expect_published_implementation(name, sweep);
    }
  }
  EXPECT_EQ(named, 39U) << "all that small data and LeNet-5 allow";
}

}  // namespace
}  // namespace feroma
