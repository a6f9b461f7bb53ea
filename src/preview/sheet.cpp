#include "feroma/preview/sheet.h"

#include <fmt/format.h>

#include <algorithm>

#include "feroma/preview/text.h"
#include "preview/sheet_style.h"
#include "preview/thumbnail.h"

namespace feroma {
namespace detail {
namespace {

/// The paper's notation of a shift, where it has one.
std::string notation(Shift shift) {
  for (const auto& [value, name] : enum_names(shift)) {
    if (value == shift && name.starts_with("P(")) {
      return fmt::format(" {}", name);
    }
  }
  return "";
}

}  // namespace

std::string title_line(const Preview& preview) {
  const ScenarioOptions& scenario = preview.scenario;
  return fmt::format("{} · {}{} · {}", scenario.dataset, name_of(scenario.shift), notation(scenario.shift),
                     name_of(scenario.level));
}

std::string detail_line(const Preview& preview) {
  return fmt::format("{} clients · {} rounds in {} stage{} · {} · generator {} · seed {}", preview.scenario.clients,
                     preview.scenario.rounds, preview.stage_count, preview.stage_count == 1 ? "" : "s",
                     name_of(preview.scenario.drift_mode), name_of(preview.scenario.generator), preview.scenario.seed);
}

double largest_share(const Preview& preview) {
  double largest = 0;
  const auto add = [&largest](const PreviewCell& cell) {
    for (const double share : cell.histogram) {
      largest = std::max(largest, share);
    }
  };
  for (const PreviewRow& row : preview.rows) {
    std::for_each(row.stages.begin(), row.stages.end(), add);
    if (row.test) {
      add(*row.test);
    }
  }
  return largest;
}

}  // namespace detail

namespace {

using namespace detail;

/// What all cells of a sheet share.
struct Scales {
  SampleKind kind = SampleKind::picture;
  ValueRange values;
  double full_share = 1;
};

void centred_text_(Canvas& canvas, double middle, double top, std::string_view text, const TextStyle& style) {
  text_(canvas, middle - text_width(text, style) / 2, top, text, style);
}

void draw_histogram(Canvas& canvas, Rect area, const std::vector<double>& histogram, double full_share) {
  // Neighbouring labels share a bar where there are more labels than pixels.
  const std::size_t per_bar =
      (histogram.size() + static_cast<std::size_t>(area.width) - 1) / static_cast<std::size_t>(area.width);
  std::vector<double> heights((histogram.size() + per_bar - 1) / per_bar, 0.0);
  for (std::size_t c = 0; c < histogram.size(); ++c) {
    heights[c / per_bar] = std::max(heights[c / per_bar], full_share > 0 ? histogram[c] / full_share : 0.0);
  }
  bars_(canvas, area, heights, kSoft);
  fill_(canvas, {area.x, area.y + area.height, area.width, 1}, kLine);
  const auto classes = static_cast<int>(histogram.size());
  if (shows_label_numbers(area.width, classes)) {
    for (int c = 0; c < classes; ++c) {
      const int left = area.width * c / classes;
      const int pitch = area.width * (c + 1) / classes - left;
      centred_text_(canvas, area.x + left + pitch / 2.0 - 1, area.y + area.height + 4, fmt::format("{}", c), kTick);
    }
  }
}

void draw_cell(Canvas& canvas, const SheetLayout& layout, std::size_t row, std::size_t column, const PreviewCell& cell,
               const Scales& scales) {
  const IdMark mark = mark_of(cell.distribution);
  const Rect area = layout.place(layout.cell, row, column);
  fill_(canvas, area, kPaper);
  frame_(canvas, area, kFrame, mark.colour, mark.dash);
  fill_(canvas, {area.x, area.y, area.width, kBand}, mark.colour);
  const Rgb ink = text_on(mark.colour);
  const double text_top = area.y + (kBand - kHeading.size) / 2 + 0.5;
  text_(canvas, area.x + kPadding + kFrame, text_top, fmt::format("{}", cell.distribution),
        {.size = kHeading.size, .colour = ink, .bold = true});
  const TextStyle small{.size = kTick.size + 1, .colour = ink};
  const std::string count = fmt::format("{} samples", cell.count);
  text_(canvas, area.x + area.width - kPadding - kFrame - text_width(count, small), text_top + 1, count, small);
  for (std::size_t i = 0; i < static_cast<std::size_t>(cell.samples.size); ++i) {
    Rect sample = layout.place(layout.sample, row, column);
    sample.x += static_cast<int>(i) * layout.sample_step;
    thumbnail_(canvas, sample, cell.samples, i, scales.kind, scales.values);
    // A class under another name is what P(Y|X) is about.
    const bool renamed = cell.labels[i].find("→") != std::string::npos;
    const TextStyle style{.size = 8, .colour = renamed ? kInk : kSoft, .bold = renamed};
    centred_text_(canvas, sample.x + sample.width / 2.0, sample.y + sample.height + 4,
                  fitting(cell.labels[i], sample.width, style), style);
  }
  draw_histogram(canvas, layout.place(layout.histogram, row, column), cell.histogram, scales.full_share);
}

void draw_title(Canvas& canvas, const Preview& preview) {
  text_(canvas, kMargin, kMargin, title_line(preview), kTitle);
  text_(canvas, kMargin, kMargin + 26, detail_line(preview), kBody);
  text_(canvas, kMargin, kMargin + 26 + kLineHeight, left_out(preview), kBody);
}

void draw_headings(Canvas& canvas, const Preview& preview, const SheetLayout& layout) {
  const auto heading = [&](std::size_t column, std::string_view name, std::string_view about) {
    text_(canvas, layout.columns[column], layout.heading, name, kHeading);
    text_(canvas, layout.columns[column], layout.heading + kLineHeight, about, kBody);
  };
  for (std::size_t i = 0; i < preview.stages.size(); ++i) {
    const StageSpan span = preview.stages[i];
    heading(i, fmt::format("stage {}", span.stage + 1),
            span.first == span.last ? fmt::format("round {}", span.first)
                                    : fmt::format("rounds {}–{}", span.first, span.last));
  }
  heading(preview.stages.size(), "test", "after the last round");
  for (std::size_t i = 0; i < preview.rows.size(); ++i) {
    const double middle = layout.rows[i] + layout.cell.height / 2.0;
    text_(canvas, kMargin, middle - kLineHeight, "client", kBody);
    text_(canvas, kMargin, middle, fmt::format("{}", preview.rows[i].client), kTitle);
    if (layout.skipped) {
      centred_text_(canvas, *layout.skipped, middle, "…", kTitle);
    }
  }
}

void draw_legend(Canvas& canvas, const Preview& preview, const SheetLayout& layout, double full_share) {
  text_(canvas, kMargin, layout.legend, fmt::format("{}{:.0f} %", kHowToRead, 100 * full_share), kBody);
  const int across = std::max(1, (layout.width - 2 * kMargin) / layout.legend_width);
  for (std::size_t i = 0; i < preview.legend.size(); ++i) {
    const DistributionNote& note = preview.legend[i];
    const IdMark mark = mark_of(note.id);
    const int x = kMargin + static_cast<int>(i) % across * layout.legend_width;
    const int y = layout.legend + kLineHeight + 4 + static_cast<int>(i) / across * kLegendLine;
    const Rect tag{x, y, kLegendTag - 10, kBand};
    frame_(canvas, tag, kFrame, mark.colour, mark.dash);
    fill_(canvas, {tag.x, tag.y, tag.width, tag.height - kFrame}, mark.colour);
    centred_text_(canvas, tag.x + tag.width / 2.0, y + (kBand - kHeading.size) / 2 + 0.5, fmt::format("{}", note.id),
                  {.size = kHeading.size, .colour = text_on(mark.colour), .bold = true});
    text_(canvas, x + kLegendTag, y + (kBand - kBody.size) / 2,
          fitting(note.about, layout.legend_width - kLegendTag, kBody), {.size = kBody.size, .colour = kInk});
  }
}

}  // namespace

Canvas draw_sheet(const Preview& preview) {
  const SheetLayout layout = sheet_layout(preview);
  const Scales scales{preview.kind, value_range(preview), largest_share(preview)};
  Canvas canvas(layout.width, layout.height, kPaper);
  const int panel_top = layout.heading - kPanelBorder;
  fill_(canvas,
        {layout.columns.back() - kPanelBorder, panel_top, layout.cell.width + 2 * kPanelBorder,
         layout.rows.back() + layout.cell.height + kPanelBorder - panel_top},
        kPanel);
  draw_title(canvas, preview);
  draw_headings(canvas, preview, layout);
  for (std::size_t row = 0; row < preview.rows.size(); ++row) {
    const PreviewRow& client = preview.rows[row];
    for (std::size_t column = 0; column < client.stages.size(); ++column) {
      draw_cell(canvas, layout, row, column, client.stages[column], scales);
    }
    if (client.test) {
      draw_cell(canvas, layout, row, preview.stages.size(), *client.test, scales);
    }
  }
  draw_legend(canvas, preview, layout, scales.full_share);
  return canvas;
}

}  // namespace feroma
