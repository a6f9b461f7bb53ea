#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/report/statistics.h"

namespace feroma::detail {

/// Values over a few ordered places: numbers of clients, budgets, numbers of labels.
struct Plot {
  struct Series {
    std::string label;
    std::vector<std::optional<MeanDeviation>> values;  ///< one per place
    bool published = false;                            ///< drawn dashed, with hollow dots
    std::size_t colour = 0;
  };
  std::string title;
  std::string x_title;
  std::string y_title;              ///< with its unit
  std::vector<std::string> places;  ///< along the horizontal axis
  std::vector<Series> series;
};

/// Curves with error bars of one standard deviation, and a key below.
[[nodiscard]] std::string plot_svg(const Plot& plot);
/// The same numbers as an HTML table.
[[nodiscard]] std::string plot_table_html(const Plot& plot);

}  // namespace feroma::detail
