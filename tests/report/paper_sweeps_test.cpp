// Every sweep of the reproduction suite that goes by the name of a published table fills the cells of that table that
// it has data and methods for. Nothing is trained: results are made up.
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
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;

const fs::path kSweeps = FEROMA_SOURCE_DIR "/configs/paper/sweeps";

/// What a sweep would leave behind, with every figure that a run can have.
RunSet finished(const Sweep& sweep) {
  RunSet set;
  for (const SweepCell& cell : sweep.cells) {
    ResultRecord result = testing::sample_result(cell.algorithm().label, 70);
    result.algorithm = cell.algorithm().name;
    result.accuracy_few_label = 69;
    result.seed = cell.experiment.scenario.seed;
    set.runs.push_back({cell.key, cell.experiment.resolved(), Summary{{}, {result}}});
  }
  return set;
}

/// What the sweep ran: datasets and algorithms.
struct Scope {
  std::set<std::string> datasets;
  std::set<std::string> algorithms;
};

Scope scope_of(const Sweep& sweep) {
  Scope scope;
  for (const SweepCell& cell : sweep.cells) {
    scope.datasets.insert(cell.experiment.scenario.dataset);
    scope.algorithms.insert(cell.algorithm().name);
  }
  return scope;
}

/// Figures of the table that the sweep is about; each cell of them must have a result.
std::size_t expect_filled(const std::string& table, const Sweep& sweep) {
  const RunSet set = finished(sweep);
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(set, notes);
  const Scope scope = scope_of(sweep);
  std::size_t figures = 0;
  for (const PublishedFigure& figure : published_figures()) {
    if (figure.table != table || !scope.datasets.contains(std::string(detail::our_dataset(figure.dataset)))) {
      continue;
    }
    const std::vector<detail::PaperCell> cells = detail::cells_of(figure);
    if (!scope.algorithms.contains(cells.front().algorithm)) {
      continue;
    }
    ++figures;
    for (const detail::PaperCell& cell : cells) {
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
      EXPECT_GT(expect_filled(name, read_sweep(entry.path())), 0U) << name;
    }
  }
  EXPECT_EQ(named, 39U) << "all that small data and LeNet-5 allow";
}

}  // namespace
}  // namespace feroma
