#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "feroma/report/paper_table.h"
#include "tests/core/temp_folder.h"
#include "tests/report/study_runs.h"

namespace feroma::test {

/// A table of the paper filled from the runs in a folder.
inline PaperTable table_of(const std::string& name, const TempFolder& folder) {
  const RunSet set = runs_in(folder.path());
  std::vector<std::string> notes;
  return make_paper_table(name, published_figures(), set, results_of(set, notes));
}

/// A row by the paper's name and our label.
inline const PaperRow& row(const PaperTable& table, const std::string& name, const std::string& label) {
  for (const PaperRow& one : table.rows) {
    if (one.name == name && one.label == label) {
      return one;
    }
  }
  throw std::runtime_error("no row " + name + " / " + label);
}

/// Whether a note below the table holds this.
inline bool has_note(const PaperTable& table, const std::string& part) {
  return std::any_of(table.notes.begin(), table.notes.end(),
                     [&part](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace feroma::test
