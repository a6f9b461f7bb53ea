#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "feroma/report/published.h"

namespace feroma::detail {

/// How a table is laid out.
struct PaperLayout {
  enum class Kind { cells, requirement, cost };
  Kind kind = Kind::cells;
  std::string title;
  std::vector<std::string_view> rows;     ///< the fields of a figure that name its row
  std::vector<std::string_view> columns;  ///< and its column
};
/// The layout of a table of this name; an unknown one is laid out as most are.
[[nodiscard]] PaperLayout layout_of(std::string_view table);
/// A field of a figure by its name in published.csv.
[[nodiscard]] const std::string& field_of(const PublishedFigure& figure, std::string_view name);

}  // namespace feroma::detail
