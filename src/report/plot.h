#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/report/statistics.h"

namespace feroma::detail {

/// Values over a few ordered places: numbers of clients, budgets, numbers of labels.
struct Plot {
  /// How a curve is drawn: solid; dotted and fainter; dashed, with hollow dots.
  enum class Look { ours, known, published };
  struct Series {
    std::string label;
    std::vector<std::optional<MeanDeviation>> values;  ///< one per place
    Look look = Look::ours;
    std::size_t colour = 0;
    bool joined = false;  ///< over places without a value
  };
  std::string title;
  std::string x_title;
  std::string y_title;              ///< with its unit
  std::vector<std::string> places;  ///< along the horizontal axis
  std::vector<Series> series;
  std::string remark = {};          ///< a sentence more for its caption
  std::vector<double> drifts = {};  ///< where data changed: 1.5 lies between the second place and the third
};

/// The class that a curve of this look has in styles, with a blank behind it; empty for our own.
[[nodiscard]] const char* class_of(Plot::Look look);
/// Curves with error bars of one standard deviation, and a key below.
[[nodiscard]] std::string plot_svg(const Plot& plot);
/// The same numbers as an HTML table.
[[nodiscard]] std::string plot_table_html(const Plot& plot);

}  // namespace feroma::detail
