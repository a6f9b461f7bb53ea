#include "report/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/line_chart.h"
#include "report/markup.h"

namespace feroma::detail {

Scale scale_for(double low, double high) {
  // Percentages are the usual case: a width of less than 1 is drawn as such only where the values themselves are small.
  const double least = std::max(std::abs(low), std::abs(high)) < 1 ? 1e-6 : 1.0;
  const double rough = std::max(high - low, least) / 5;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  Scale scale;
  scale.step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    scale.step = rough <= factor * power ? factor * power : scale.step;
  }
  scale.low = std::floor(low / scale.step) * scale.step;
  scale.high = std::max(std::ceil(high / scale.step) * scale.step, scale.low + scale.step);
  return scale;
}

double PlotArea::y(double value) const {
  return bottom - (bottom - top) * (value - vertical.low) / (vertical.high - vertical.low);
}

double PlotArea::x(double i, double count) const {
  return count <= 1 ? (left + right) / 2 : left + (right - left) * i / (count - 1);
}

std::string vertical_axis_svg(const PlotArea& area, const std::string& title) {
  std::string svg = fmt::format(R"(<text class="strong" x="2" y="12">{}</text>)", escape_html(title));
  const Scale& scale = area.vertical;
  for (double value = scale.low; value <= scale.high + scale.step / 2; value += scale.step) {
    const double shown = std::abs(value) < scale.step / 1000 ? 0 : value;  // -1e-17 is 0
    svg += fmt::format(R"(<line class="grid" x1="{:.1f}" x2="{:.1f}" y1="{:.1f}" y2="{:.1f}"/>)", area.left - 4,
                       area.right, area.y(value), area.y(value));
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="end">{:g}</text>)", area.left - 8, area.y(value) + 4,
                       shown);
  }
  return svg;
}

std::string open_svg(double width, double height, const std::string& description) {
  return fmt::format(R"(<svg class="chart" viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">)", width, height,
                     escape_html(description));
}

double text_width(const std::string& text) { return 6.4 * static_cast<double>(text.size()); }

Legend legend_svg(const std::vector<LegendItem>& items, double left, double top, double width) {
  constexpr double kLine = 18;
  constexpr double kSwatch = 22;
  Legend legend;
  double x = left;
  double y = top + kLine / 2;
  for (const LegendItem& item : items) {
    const double wide = kSwatch + text_width(item.label) + 14;
    if (x > left && x + wide > left + width) {
      x = left;
      y += kLine;
    }
    legend.svg +=
        fmt::format(R"(<path class="curve {}c{}" d="M{:.1f} {:.1f}h16"/>)", item.style, item.colour % kColours, x, y);
    legend.svg += fmt::format(R"(<text class="strong" x="{:.1f}" y="{:.1f}">{}</text>)", x + kSwatch, y + 4,
                              escape_html(item.label));
    x += wide;
  }
  legend.height = items.empty() ? 0 : y + kLine / 2 - top;
  return legend;
}

std::string distribution_colour(int distribution) {
  constexpr double kGoldenAngle = 137.5;  // neighbours are far apart, however many there are
  return distribution == 0 ? "hsl(215, 8%, 57%)"
                           : fmt::format("hsl({:.1f}, 55%, 55%)", std::fmod(distribution * kGoldenAngle, 360.0));
}

}  // namespace feroma::detail
