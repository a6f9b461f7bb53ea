#pragma once

#include <optional>
#include <string>
#include <vector>

namespace feroma::detail {

/// The values of an axis: a step of 1, 2 or 5 times a power of ten, about five of them.
struct Scale {
  double low = 0;
  double high = 100;
  double step = 20;
};
/// A scale that holds both; one without width is widened.
[[nodiscard]] Scale scale_for(double low, double high);

/// The part of a drawing in which values are drawn: places of the edges, and what they stand for.
struct PlotArea {
  double left = 0;
  double right = 0;
  double top = 0;
  double bottom = 0;
  Scale vertical;

  [[nodiscard]] double y(double value) const;
  /// The place of item `i` of `count`, which stand evenly between the edges.
  [[nodiscard]] double x(double i, double count) const;
};

/// Grid lines with their values, and the title of the axis above them.
[[nodiscard]] std::string vertical_axis_svg(const PlotArea& area, const std::string& title);

/// The start of a chart: its size and what it says to those who cannot see it.
[[nodiscard]] std::string open_svg(double width, double height, const std::string& description);

/// A key for labels in colours 0, 1, ...; wrapped to `width`.
struct Legend {
  std::string svg;
  double height = 0;
};
struct LegendItem {
  std::string label;
  std::size_t colour = 0;
  const char* style = "";  ///< a class of its curve, with a blank behind it
};
[[nodiscard]] Legend legend_svg(const std::vector<LegendItem>& items, double left, double top, double width);

/// Roughly how wide a text of 12 pixels is.
[[nodiscard]] double text_width(const std::string& text);

/// The colour of a true distribution, the same in every figure; grey for 0, which is unknown.
[[nodiscard]] std::string distribution_colour(int distribution);

}  // namespace feroma::detail
