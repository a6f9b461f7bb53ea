#pragma once

#include <optional>
#include <vector>

#include "feroma/preview/canvas.h"
#include "feroma/preview/preview.h"

namespace feroma {

/// Where the parts of a sheet are.
struct SheetLayout {
  int width = 0;
  int height = 0;
  int heading = 0;             ///< top of the column headings
  std::vector<int> rows;       ///< top of each client's cells
  std::vector<int> columns;    ///< left of each stage, then of the test column
  std::optional<int> skipped;  ///< between the columns where stages are left out
  int legend = 0;              ///< top of the legend
  int legend_width = 0;        ///< of one entry
  // Inside a cell, from its upper left corner; the samples lie side by side.
  Rect cell;
  Rect sample;
  int sample_step = 0;
  Rect histogram;

  /// A part of the cell at (row, column).
  [[nodiscard]] Rect place(Rect part, std::size_t row, std::size_t column) const;
};
[[nodiscard]] SheetLayout sheet_layout(const Preview& preview);

/// Clients down, stages across, the test column last; a frame's colour is the distribution.
[[nodiscard]] Canvas draw_sheet(const Preview& preview);

}  // namespace feroma
