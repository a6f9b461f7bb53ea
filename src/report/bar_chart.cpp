#include "report/bar_chart.h"

#include <fmt/core.h>

#include <algorithm>

#include "report/axis.h"
#include "report/markup.h"

namespace feroma::detail {
namespace {

constexpr double kBarsWidth = 560;  ///< or more, where labels need it
constexpr double kRow = 18;
constexpr double kHead = 26;

/// One block: a title and a bar per algorithm, on a scale of its own.
std::string block_svg(const ResultGroup& group, std::size_t column, double left, double width, double& y) {
  double most = 0;
  for (const GroupRow& row : group.rows) {
    most = std::max(most, row.values[column] ? row.values[column]->mean : 0);
  }
  if (most <= 0) {
    return "";
  }
  const GroupColumn& rule = group_columns()[column];
  const bool bytes = rule.name.starts_with("bytes");
  std::string svg = fmt::format(R"(<text class="head" x="2" y="{:.1f}">{}</text>)", y + 16,
                                bytes ? rule.title + " per client and round" : rule.title + " for the whole run");
  y += kHead;
  const double room = width - left - 84;
  for (const GroupRow& row : group.rows) {
    if (!row.values[column]) {
      continue;
    }
    const double value = row.values[column]->mean;
    const double length = std::max(1.0, room * value / most);
    svg += fmt::format(R"(<text class="strong" x="{:.1f}" y="{:.1f}" text-anchor="end">{}</text>)", left - 8, y + 12,
                       escape_html(row.label));
    svg += fmt::format(R"(<rect class="bar c0" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2"/>)", left, y + 2,
                       length, kRow - 5);
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}">{:.{}f}</text>)", left + length + 6, y + 12, value, rule.digits);
    y += kRow;
  }
  y += 8;
  return svg;
}

}  // namespace

std::string cost_bars_svg(const ResultGroup& group) {
  double widest = 0;
  for (const GroupRow& row : group.rows) {
    widest = std::max(widest, text_width(row.label));
  }
  const double left = widest + 14;
  const double width = std::max(kBarsWidth, left + kBarsWidth / 2);
  std::string bars;
  double y = 0;
  for (std::size_t column = 0; column < group_columns().size(); ++column) {
    const std::string& name = group_columns()[column].name;
    if (name == "seconds_total" || name.starts_with("bytes_")) {
      bars += block_svg(group, column, left, width, y);
    }
  }
  if (bars.empty()) {
    return "";
  }
  return open_svg(width, y, fmt::format("Seconds and kilobytes of each algorithm: {}", group.title)) + bars + "</svg>";
}

}  // namespace feroma::detail
