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

  /// The best value, where several results differ; ties are all best.
  [[nodiscard]] std::optional<double> best() const;
};

/// Every column but the first (the label), the same for terminal and page.
[[nodiscard]] std::vector<ResultColumn> result_columns(std::span<const ResultRecord> results);

}  // namespace feroma::detail
