#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "feroma/report/run_set.h"
#include "feroma/report/statistics.h"

namespace feroma {

/// One column of a group's table; which of a result's numbers it holds.
struct GroupColumn {
  std::string name;   ///< of the field in summary.json
  std::string title;  ///< for people, with its unit
  bool higher_is_better = true;
  int digits = 2;
  double unit = 1;  ///< values are shown in so many of summary.json's units: kilobytes are for people
};
[[nodiscard]] const std::vector<GroupColumn>& group_columns();
/// A value of a column in the unit that summary.json has it in, for files that programs read.
[[nodiscard]] MeanDeviation in_own_unit(const GroupColumn& column, const MeanDeviation& shown);

/// An algorithm's results over seeds.
struct GroupRow {
  std::string label;
  std::size_t seeds = 0;
  std::vector<std::optional<MeanDeviation>> values;  ///< one per group_columns(), in its unit
  std::optional<double> comparable;                  ///< mean of comparable_accuracy
  std::optional<std::size_t> rank;                   ///< by it, 1 is best
  std::optional<std::string> not_applicable;
  std::optional<std::string> failed;  ///< how many of its seeds did, and why the first one

  /// The value that a table for people has in a column: `known` says nothing where one model serves everybody, which
  /// makes it the accuracy.
  [[nodiscard]] const std::optional<MeanDeviation>& shown(std::size_t column) const;
  /// What stands where there is no value.
  [[nodiscard]] std::string_view no_value() const { return not_applicable ? "N/A" : failed ? "failed" : "-"; }
};

/// Runs that differ in nothing but seed and algorithms.
struct ResultGroup {
  std::string title;                                       ///< what tells it from the other groups
  std::string name;                                        ///< the same in short, for names of files
  std::vector<std::pair<std::string, std::string>> facts;  ///< dataset, shift, level, ...
  std::map<std::string, SettingValue> settings;            ///< of its first run, without algorithms
  std::string setting;                                     ///< OurResult::setting of its results
  std::vector<GroupRow> rows;                              ///< best first

  /// Places in group_columns() that a table has: those with a value in some row, and the first where a row has to say
  /// that there can be none.
  [[nodiscard]] std::vector<std::size_t> shown_columns() const;
};

/// Results by setting, in the order of dataset, shift, level (low, medium, high), drifts, clients and the rest.
[[nodiscard]] std::vector<ResultGroup> group_results(const RunSet& set, const std::vector<OurResult>& results);

}  // namespace feroma
