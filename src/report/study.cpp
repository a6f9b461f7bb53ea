#include "feroma/report/study.h"

#include <algorithm>
#include <utility>

namespace feroma {

Study make_study(RunSet set, const StudyOptions& options, const std::vector<PublishedFigure>& published) {
  Study study;
  study.set = std::move(set);
  study.notes = study.set.damaged;
  study.notes.insert(study.notes.end(), study.set.notes.begin(), study.set.notes.end());
  study.results = results_of(study.set, study.notes);
  for (const std::string& name : options.tables) {
    const bool twice = std::any_of(study.tables.begin(), study.tables.end(),
                                   [&name](const PaperTable& table) { return table.name == name; });
    if (!twice) {
      study.tables.push_back(make_paper_table(name, published, study.set, study.results));
    }
  }
  if (!options.tables.empty()) {
    study.results = results_in_tables(options.tables, published, study.set, study.results);
  }
  study.groups = group_results(study.set, study.results);
  if (options.against_paper && options.tables.empty()) {
    for (const auto& [name, title] : paper_table_names(published)) {
      PaperTable table = make_paper_table(name, published, study.set, study.results);
      if (table.is_measured()) {
        study.tables.push_back(std::move(table));
      }
    }
    if (study.tables.empty()) {
      study.notes.emplace_back(
          "no run has the settings of an experiment of the paper: there is nothing to put beside it");
    }
  }
  study.comparison = compare(study.set, study.results, options.versus,
                             study.tables.empty() ? FedAvgRound::last : FedAvgRound::best, study.notes);
  return study;
}

}  // namespace feroma
