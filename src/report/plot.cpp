#include "report/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "feroma/core/error.h"
#include "report/axis.h"
#include "report/cell_text.h"
#include "report/line_chart.h"
#include "report/markup.h"

namespace feroma::detail {
namespace {

constexpr double kPlotWidth = 560;
constexpr double kPlotBottom = 270;

Scale scale_of(const Plot& plot) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const Plot::Series& series : plot.series) {
    for (const std::optional<MeanDeviation>& value : series.values) {
      if (value) {
        low = std::min(low, value->mean - value->deviation.value_or(0));
        high = std::max(high, value->mean + value->deviation.value_or(0));
      }
    }
  }
  return low > high ? Scale{} : scale_for(low, high);
}

std::string series_svg(const Plot::Series& series, const PlotArea& area, double shift) {
  std::string path;
  std::string marks;
  const auto count = static_cast<double>(series.values.size());
  const std::size_t colour = series.colour % kColours;
  bool pen_down = false;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    const std::optional<MeanDeviation>& value = series.values[i];
    if (value) {
      const double x = area.x(static_cast<double>(i), count) + shift;
      const double y = area.y(value->mean);
      path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", x, y);
      if (value->deviation && *value->deviation > 0) {
        marks += fmt::format(R"(<path class="error c{}" d="M{:.1f} {:.1f}V{:.1f}"/>)", colour, x,
                             area.y(value->mean - *value->deviation), area.y(value->mean + *value->deviation));
      }
      marks += fmt::format(R"(<circle class="{} c{}" cx="{:.1f}" cy="{:.1f}" r="4"><title>{}: {}</title></circle>)",
                           series.look == Plot::Look::published ? "ring" : "dot", colour, x, y,
                           escape_html(series.label), spread_text(value->mean, value->deviation, 2));
    }
    pen_down = value || (pen_down && series.joined);
  }
  return path.empty()
             ? ""
             : fmt::format(R"(<path class="curve {}c{}" d="{}h0"/>)", class_of(series.look), colour, path) + marks;
}

}  // namespace

const char* class_of(Plot::Look look) {
  switch (look) {
    case Plot::Look::ours: return "";
    case Plot::Look::known: return "known ";
    case Plot::Look::published: return "published ";
  }
  unreachable();
}

std::string plot_svg(const Plot& plot) {
  PlotArea area{60, kPlotWidth - 24, 28, kPlotBottom, scale_of(plot)};
  std::vector<LegendItem> keys;
  for (const Plot::Series& series : plot.series) {
    keys.push_back({series.label, series.colour, class_of(series.look)});
  }
  const Legend legend = legend_svg(keys, 12, kPlotBottom + 46, kPlotWidth - 24);
  const std::string changes = plot.drifts.empty() ? "" : fmt::format("; data change {} times", plot.drifts.size());
  std::string svg = open_svg(kPlotWidth, kPlotBottom + 52 + legend.height,
                             fmt::format("{}: {} over {}{}", plot.title, plot.y_title, plot.x_title, changes)) +
                    vertical_axis_svg(area, plot.y_title);
  area.left += 14;  // the first and the last place stand off the edges
  area.right -= 14;
  const auto count = static_cast<double>(plot.places.size());
  for (std::size_t i = 0; i < plot.places.size(); ++i) {
    svg += fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)",
                       area.x(static_cast<double>(i), count), kPlotBottom + 20, escape_html(plot.places[i]));
  }
  for (const double place : plot.drifts) {
    svg += fmt::format(R"(<line class="drift" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>)", area.x(place, count),
                       area.top, area.bottom);
  }
  svg += fmt::format(R"(<text class="strong" x="{}" y="{}" text-anchor="end">{}</text>)", kPlotWidth - 10,
                     kPlotBottom + 38, escape_html(plot.x_title));
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    // A little apart, so that error bars do not cover one another.
    const double shift = 2.5 * (static_cast<double>(i) - static_cast<double>(plot.series.size() - 1) / 2);
    svg += series_svg(plot.series[i], area, plot.series.size() > 8 ? 0 : shift);
  }
  return svg + legend.svg + "</svg>";
}

std::string plot_table_html(const Plot& plot) {
  std::string html = fmt::format(
      "<details><summary>Show the numbers</summary><div class=\"scroll\"><table><thead><tr><th scope=\"col\">{}</th>",
      escape_html(plot.x_title));
  for (const std::string& place : plot.places) {
    html += fmt::format("<th scope=\"col\">{}</th>", escape_html(place));
  }
  html += "</tr></thead><tbody>";
  for (const Plot::Series& series : plot.series) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(series.label));
    for (const std::optional<MeanDeviation>& value : series.values) {
      html += value ? fmt::format("<td>{}</td>", spread_text(value->mean, value->deviation, 2))
                    : "<td class=\"none\">-</td>";
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div></details>";
}

}  // namespace feroma::detail
