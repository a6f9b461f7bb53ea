#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/report/compare.h"
#include "feroma/report/groups.h"
#include "feroma/report/paper_table.h"
#include "feroma/report/published.h"
#include "feroma/report/run_set.h"

namespace feroma {

/// What to make of some runs.
struct StudyOptions {
  std::vector<std::string> tables = {};  ///< of the paper
  bool against_paper = false;            ///< every table of the paper with a figure of ours, or part of a mean
  std::string versus = {};               ///< whom the others are tested against; empty: the best
};

/// A report on several runs, before it is written in any form. Refers to the published figures it was made with.
struct Study {
  RunSet set;
  std::vector<OurResult> results;  ///< all, or with `StudyOptions::tables` those of their experiments
  std::vector<std::string> notes;  ///< what was left out, and why
  std::vector<ResultGroup> groups;
  std::optional<Comparison> comparison;
  std::vector<PaperTable> tables;
};

[[nodiscard]] Study make_study(RunSet set, const StudyOptions& options, const std::vector<PublishedFigure>& published);

/// For a terminal; with tables of the paper it shows those and the tests, not the settings one by one.
[[nodiscard]] std::string study_text(const Study& study, bool colour);
/// One line per figure, ours and the published one, and per rank and p value.
[[nodiscard]] std::string study_csv(const Study& study);
/// A document with one booktabs table for each table and group, and one of ranks and tests.
[[nodiscard]] std::string study_latex(const Study& study);
[[nodiscard]] std::string study_json(const Study& study);

}  // namespace feroma
