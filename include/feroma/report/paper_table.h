#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/report/published.h"
#include "feroma/report/run_set.h"

namespace feroma {

/// A published figure and ours beside it.
struct PaperValue {
  const PublishedFigure* figure = nullptr;  ///< where it stands in the paper; null where that has none
  std::optional<double> published = {};
  std::optional<double> published_std = {};
  std::optional<double> printed = {};  ///< what the paper prints where `published` was taken anew
  std::optional<double> ours = {};
  std::optional<double> ours_std = {};
  std::size_t seeds = 0;        ///< behind ours; the fewest of any cell of a mean, 0 where ours is computed
  std::size_t cells_found = 0;  ///< of a mean over cells
  std::size_t cells_needed = 1;
  /// Why a cell of it can have no figure; only where there is none of ours.
  std::optional<std::string> not_applicable = {};
  bool comparable = true;  ///< otherwise one of the two is of other data or by another rule: no difference is taken
  bool aside = false;      ///< ours is of another experiment than the published figure, or computed
  // Of the runs behind ours, in our words: "all" where they differ, empty where they have none.
  std::string our_dataset = {};
  std::string our_level = {};
  std::string our_drift = {};  ///< "5/20"

  [[nodiscard]] std::optional<double> difference() const;
};

/// One of our algorithms in the row of a published one.
struct PaperRow {
  std::string name;   ///< of the paper's row; kNotPublished where it has none
  std::string label;  ///< ours; empty where no run of ours has any of it
  std::vector<PaperValue> values;
};

/// Names the rows of algorithms that the paper does not have.
inline constexpr const char* kNotPublished = "not published";

struct PaperColumn {
  std::string title;
  bool higher_is_better = true;
  int digits = 2;
};

/// A table of the paper with our figures in it.
struct PaperTable {
  std::string name;
  std::string title;
  std::vector<PaperColumn> columns;
  std::vector<PaperRow> rows;
  std::vector<std::string> notes;

  /// Values with a measured figure of ours, and all that could have one: not those that are computed, that the paper
  /// lacks too, or where a method is not applicable.
  [[nodiscard]] std::pair<std::size_t, std::size_t> filled() const;
  /// Whether one of ours, or a part of a mean, is of the experiment of a published figure.
  [[nodiscard]] bool is_measured() const;
};

/// Names of the tables in the order of the paper, each with a line on what it shows.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> paper_table_names(
    const std::vector<PublishedFigure>& published);

/// Fills a table; an unknown name is an invalid_config error that suggests the nearest one. `published` must outlive
/// it.
[[nodiscard]] PaperTable make_paper_table(const std::string& name, const std::vector<PublishedFigure>& published,
                                          const RunSet& set, const std::vector<OurResult>& results);

/// The results that tables are about: of their experiments, and of whatever else ran in the same settings but for
/// variants of a preset.
[[nodiscard]] std::vector<OurResult> results_in_tables(const std::vector<std::string>& names,
                                                       const std::vector<PublishedFigure>& published, const RunSet& set,
                                                       const std::vector<OurResult>& results);

}  // namespace feroma
