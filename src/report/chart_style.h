#pragma once

#include <string>
#include <string_view>

namespace feroma::detail {

/// The style of a chart that stands alone: every variable replaced by its colour, for programs that know no variables;
/// the dark colours follow for those that ask for them.
[[nodiscard]] std::string standalone_style();

/// Pixels around a chart that stands alone.
inline constexpr int kFileMargin = 12;

/// A chart as a file of its own, with a title.
[[nodiscard]] std::string standalone_svg(std::string_view chart, std::string_view title);

/// Width and height in a chart's view box.
struct ChartSize {
  int width = 0;
  int height = 0;
};
[[nodiscard]] ChartSize size_of_chart(std::string_view chart);

}  // namespace feroma::detail
