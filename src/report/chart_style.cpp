#include "report/chart_style.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "feroma/core/error.h"
#include "report/assets.h"
#include "report/line_chart.h"
#include "report/markup.h"

namespace feroma::detail {
namespace {

using Variables = std::map<std::string, std::string>;

/// The `--name: value;` pairs of the block that starts at `from`.
Variables variables_of(std::string_view css, std::size_t from) {
  const std::size_t open = css.find('{', from);
  std::string_view block = css.substr(open + 1, css.find('}', open) - open - 1);
  Variables variables;
  for (std::size_t at = block.find("--"); at != std::string_view::npos; at = block.find("--")) {
    block.remove_prefix(at);
    const std::size_t colon = block.find(':');
    const std::size_t end = block.find(';');
    require(colon < end && end != std::string_view::npos, ErrorCode::internal,
            "[report] style.css: a variable is open");
    const std::string_view value = block.substr(colon + 1, end - colon - 1);
    variables[std::string(block.substr(0, colon))] = value.substr(value.find_first_not_of(' '));
    block.remove_prefix(end);
  }
  return variables;
}

std::string replaced(std::string text, const Variables& variables) {
  for (std::size_t at = text.find("var("); at != std::string::npos; at = text.find("var(", at)) {
    const std::size_t close = text.find(')', at);
    const auto found = variables.find(text.substr(at + 4, close - at - 4));
    require(found != variables.end(), ErrorCode::internal, "[report] chart.css asks for an unknown colour {}",
            text.substr(at, close - at + 1));
    text.replace(at, close - at + 1, found->second);
  }
  return text;
}

/// chart.css has one rule per line; one whose colour is that of a series becomes one rule per colour.
std::string resolved(const Variables& variables) {
  std::string css;
  std::string_view rest = kChartCss;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string rule(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (rule.find("var(--c)") == std::string::npos) {
      css += replaced(rule, variables) + "\n";
      continue;
    }
    const std::size_t open = rule.find(" {");
    for (std::size_t i = 0; i < kColours; ++i) {
      Variables of_series = variables;
      of_series["--c"] = variables.at(fmt::format("--c{}", i));
      css += fmt::format("{}.c{}{}\n", rule.substr(0, open), i, replaced(rule.substr(open), of_series));
    }
  }
  return css;
}

}  // namespace

std::string standalone_style() {
  const std::size_t light = kStyleCss.find(":root");
  const std::size_t dark = kStyleCss.find(":root", kStyleCss.find("prefers-color-scheme: dark"));
  Variables night = variables_of(kStyleCss, light);
  for (const auto& [name, value] : variables_of(kStyleCss, dark)) {
    night[name] = value;
  }
  return resolved(variables_of(kStyleCss, light)) + "@media (prefers-color-scheme: dark) {\n" + resolved(night) + "}\n";
}

ChartSize size_of_chart(std::string_view chart) {
  const std::size_t box = chart.find("viewBox=\"0 0 ");
  require(box != std::string_view::npos, ErrorCode::internal, "[report] a chart has no view box");
  const std::string numbers(chart.substr(box + 13, 32));
  char* end = nullptr;
  const auto width = static_cast<int>(std::strtod(numbers.c_str(), &end));
  return {width, static_cast<int>(std::strtod(end, nullptr))};
}

std::string standalone_svg(std::string_view chart, std::string_view title) {
  const ChartSize size = size_of_chart(chart);
  const std::size_t inside = chart.find('>') + 1;
  std::string opening(chart.substr(0, inside));
  const std::size_t box = opening.find("viewBox=\"");
  const std::size_t box_end = opening.find('"', box + 9) + 1;
  opening.replace(
      box, box_end - box,
      fmt::format("xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"-{2} -{2} {0} "
                  "{1}\"",
                  size.width + 2 * kFileMargin, size.height + 2 * kFileMargin, kFileMargin));
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}<title>{}</title><style>\n{}</style>"
      "<rect class=\"paper\" x=\"-{}\" y=\"-{}\" width=\"100%\" height=\"100%\"/>{}\n",
      opening, escape_html(title), standalone_style(), kFileMargin, kFileMargin, chart.substr(inside));
}

}  // namespace feroma::detail
