#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feroma/report/record.h"

namespace feroma::detail {

/// Which end of a column is good.
enum class Better { higher, lower, neither };

/// One column of the results table: a title, what it means, and a value per result.
struct ResultColumn {
  std::string title;
  std::string help;
  Better better = Better::neither;
  std::vector<std::optional<double>> values;
  std::vector<std::string> texts;  ///< "-" where there is no value
  bool explained = false;          ///< the title alone does not say what it is

  /// The best value, where several results differ; ties are all best.
  [[nodiscard]] std::optional<double> best() const;
};

/// Every column but the first (the label), the same for terminal and page.
[[nodiscard]] std::vector<ResultColumn> result_columns(std::span<const ResultRecord> results);
/// What stands below the table: a line for each column with values whose title does not say what it is.
[[nodiscard]] std::vector<std::string> explanations_of(std::span<const ResultColumn> columns);

}  // namespace feroma::detail
