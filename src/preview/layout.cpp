#include <algorithm>
#include <cmath>
#include <cstdint>

#include "feroma/preview/sheet.h"
#include "feroma/preview/text.h"
#include "preview/sheet_style.h"
#include "preview/thumbnail.h"

namespace feroma {
namespace {

using namespace detail;

constexpr int kLabelHeight = 16;
constexpr int kHistogramHeight = 28;
constexpr int kLeastInnerWidth = 104;
/// More labels than this share a bar.
constexpr int kMostBars = 200;
/// About 200 MB of memory; no viewer is comfortable with more.
constexpr std::int64_t kMostPixels = 60'000'000;

void lay_out_cell(SheetLayout& layout, const Preview& preview) {
  const PreviewCell& first = preview.rows.front().stages.front();
  const PixelSize thumbnail = thumbnail_size(preview.kind, first.samples.shape);
  int samples = 0;
  for (const PreviewRow& row : preview.rows) {
    for (const PreviewCell& cell : row.stages) {
      samples = std::max(samples, cell.samples.size);
    }
    samples = std::max(samples, row.test ? row.test->samples.size : 0);
  }
  layout.sample_step = thumbnail.width + kSampleGap;
  const int pictures = samples > 0 ? samples * layout.sample_step - kSampleGap : 0;
  const int inner = std::max({pictures, kLeastInnerWidth, std::min(preview.classes, kMostBars)});
  const int left = kFrame + kPadding;
  const int top = kBand + kPadding;
  // Fewer samples than fit stand in the middle.
  layout.sample = {left + (inner - pictures) / 2, top, thumbnail.width, thumbnail.height};
  const int below = samples > 0 ? top + thumbnail.height + kLabelHeight : top;
  layout.histogram = {left, below, inner, kHistogramHeight};
  layout.cell = {
      0, 0, inner + 2 * left,
      below + kHistogramHeight + (shows_label_numbers(inner, preview.classes) ? kTickHeight : kPadding) + kFrame};
}

void lay_out_grid(SheetLayout& layout, const Preview& preview) {
  const std::string left = left_out(preview);
  layout.heading = kMargin + kTitleHeight + (left.empty() ? 0 : kLineHeight);
  int x = kMargin + kRowHeading;
  for (std::size_t i = 0; i < preview.stages.size(); ++i) {
    const bool skips = i > 0 && preview.stages[i].first != preview.stages[i - 1].last + 1;
    if (skips) {
      layout.skipped = x - kCellGap + (kCellGap + kSkipGap) / 2;
      x += kSkipGap;
    }
    layout.columns.push_back(x);
    x += layout.cell.width + kCellGap;
  }
  layout.columns.push_back(x - kCellGap + kTestGap);
  layout.width = layout.columns.back() + layout.cell.width + kMargin + kPanelBorder;
  int y = layout.heading + kHeadingHeight;
  for (std::size_t i = 0; i < preview.rows.size(); ++i) {
    layout.rows.push_back(y);
    y += layout.cell.height + kCellGap;
  }
  layout.legend = y - kCellGap + kPanelBorder + kLegendGap;
}

void lay_out_legend(SheetLayout& layout, const Preview& preview) {
  double widest = 0;
  for (const DistributionNote& note : preview.legend) {
    widest = std::max(widest, text_width(note.about, kBody));
  }
  const int room = layout.width - 2 * kMargin;
  layout.legend_width = std::clamp(kLegendTag + static_cast<int>(std::ceil(widest)) + 2 * kMargin, 1, room);
  const int across = std::max(1, room / layout.legend_width);
  const auto entries = static_cast<int>(preview.legend.size());
  const int lines = (entries + across - 1) / across;
  layout.height = layout.legend + kLineHeight + lines * kLegendLine + kMargin;
}

}  // namespace

Rect SheetLayout::place(Rect part, std::size_t row, std::size_t column) const {
  return {columns[column] + part.x, rows[row] + part.y, part.width, part.height};
}

SheetLayout sheet_layout(const Preview& preview) {
  require(!preview.rows.empty() && !preview.stages.empty(), ErrorCode::internal,
          "[preview] a sheet must have a client and a stage, got {} and {}", preview.rows.size(),
          preview.stages.size());
  SheetLayout layout;
  lay_out_cell(layout, preview);
  lay_out_grid(layout, preview);
  // A title must not be cut off beside a narrow grid.
  const double title = std::max({text_width(title_line(preview), kTitle), text_width(detail_line(preview), kBody),
                                 text_width(std::string(kHowToRead) + "100 %", kBody)});
  layout.width = std::max(layout.width, static_cast<int>(std::ceil(title)) + 2 * kMargin);
  lay_out_legend(layout, preview);
  require(std::int64_t{layout.width} * layout.height <= kMostPixels, ErrorCode::invalid_config,
          "[preview] a sheet must have at most {} pixels, got {} x {}; show fewer clients, stages or samples",
          kMostPixels, layout.width, layout.height);
  return layout;
}

}  // namespace feroma
