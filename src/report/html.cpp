#include "feroma/report/html.h"

#include <fmt/core.h>

#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

#include "feroma/core/files.h"
#include "report/assets.h"
#include "report/line_chart.h"
#include "report/markup.h"
#include "report/mixing_section.h"
#include "report/results_section.h"
#include "report/share_chart.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;
using detail::escape_html;

/// The scenario's settings that tell runs apart, in the words of the page.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kChips{{{"dataset", "dataset"},
                                                                                {"shift", "shift"},
                                                                                {"level", "level"},
                                                                                {"drift_mode", "drift"},
                                                                                {"drifts", "stages"},
                                                                                {"clients", "clients"},
                                                                                {"rounds", "rounds"},
                                                                                {"participation", "participation"},
                                                                                {"generator", "generator"},
                                                                                {"seed", "seed"}}};

std::string chips_html(const RunData& run) {
  std::string html;
  const Scenario scenario = scenario_of(run.config);
  for (const auto& [key, title] : kChips) {
    const auto found = scenario.find(std::string(key));
    if (found != scenario.end()) {
      const auto* text = std::get_if<std::string>(&found->second);
      html +=
          fmt::format("<li>{} <b>{}</b></li>", title, escape_html(text != nullptr ? *text : to_string(found->second)));
    }
  }
  return html;
}

/// The curves as a table, for readers who cannot see them.
std::string curve_table(const detail::CurveData& data) {
  std::string html =
      "<details><summary>Show the numbers</summary><div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">round</th>";
  for (const detail::Curve& curve : data.curves) {
    html += fmt::format(
        "<th scope=\"col\">{}: test</th><th scope=\"col\">as served</th><th scope=\"col\">after training</th>",
        escape_html(curve.label));
  }
  html += "</tr></thead><tbody>";
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("<td>{:.2f}</td>", *value) : std::string("<td class=\"none\">-</td>");
  };
  for (int round = data.first; round <= data.last; ++round) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", round);
    for (const detail::Curve& curve : data.curves) {
      const auto place = static_cast<std::size_t>(round - data.first);
      html += cell(curve.test[place]) + cell(curve.before[place]) + cell(curve.after[place]);
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div></details>";
}

std::string capitalised(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

std::string accuracy_section(const detail::CurveData& data) {
  if (data.curves.empty()) {
    return "";
  }
  std::string html = fmt::format(
      "<section><h2>{} over rounds</h2><p class=\"lead\">In percent. {} The numbers below also have the accuracy after "
      "local training, on clients' own held-out samples.{}</p><div class=\"keys\">",
      capitalised(detail::headline_name(data)), detail::headline_sentences(data),
      data.drifts.empty() ? "" : " Dotted lines mark where clients' data changed.");
  for (std::size_t i = 0; i < data.curves.size(); ++i) {
    html += fmt::format(R"(<button type="button" aria-pressed="true" data-series="{}">)"
                        R"(<svg viewBox="0 0 28 8"><path class="curve c{} {}" d="M1 4H27"/></svg>{}</button>)",
                        i, i % detail::kColours, detail::dash_class(i), escape_html(data.curves[i].title()));
  }
  html += "</div>";
  html += fmt::format(R"(<div class="scroll">{}</div>)", detail::line_chart_svg(data));
  return html + curve_table(data) + "</section>\n";
}

std::string strategy_section(const RunData& run) {
  std::string figures;
  for (const AlgorithmRun& algorithm : run.algorithms) {
    if (detail::has_shares(algorithm)) {
      figures += fmt::format("<figure><h3>{}</h3>{}</figure>", escape_html(algorithm.label),
                             detail::share_chart_svg(algorithm));
    }
  }
  if (figures.empty()) {
    return "";
  }
  std::string keys;
  for (const std::string_view name : {"global", "clustered", "personal"}) {
    keys += fmt::format(R"(<span><i class="swatch {}"></i>{}</span>)", name, name);
  }
  return fmt::format(
      "<section><h2>Strategies</h2><p class=\"lead\">Share of clients per round whose model was mixed from nearly all "
      "clients (global), from some (clustered), or from hardly more than one (personal).</p>"
      "<div class=\"keys\">{}</div><div class=\"figures\">{}</div></section>\n",
      keys, figures);
}

std::string config_section(const RunData& run) {
  return fmt::format(
      "<section><details><summary>The configuration of this run</summary><pre>{}</pre></details></section>\n",
      escape_html(run.config_text));
}

Json curve_json(const detail::CurveData& data) {
  const auto list = [](const std::vector<std::optional<double>>& values) {
    Json json = Json::array();
    for (const std::optional<double>& value : values) {
      json.push_back(value ? Json(*value) : Json(nullptr));
    }
    return json;
  };
  Json series = Json::array();
  for (std::size_t i = 0; i < data.curves.size(); ++i) {
    series.push_back({{"label", data.curves[i].label},
                      {"color", i % detail::kColours},
                      {"test", list(data.curves[i].test)},
                      {"before", list(data.curves[i].before)},
                      {"after", list(data.curves[i].after)}});
  }
  return {{"first", data.first}, {"last", data.last}, {"series", std::move(series)}};
}

}  // namespace

std::string html_report(const RunData& run) {
  const detail::CurveData curves = detail::curves_of(run.algorithms);
  const Json mixing = detail::mixing_json(std::span(&run, 1));
  const Json data{{"accuracy", curve_json(curves)}, {"mixing", mixing}};
  const std::string sections = detail::tiles_html(run) + detail::results_html(run) + accuracy_section(curves) +
                               strategy_section(run) + detail::mixing_section(mixing) + config_section(run);
  return detail::fill_template(
      detail::kPageHtml, {{"title", escape_html(run.name)},
                          {"style", std::string(detail::kStyleCss) + std::string(detail::kChartCss)},
                          {"chips", chips_html(run)},
                          {"sections", sections},
                          {"version", FEROMA_VERSION},
                          {"data", detail::escape_script(data.dump(-1, ' ', false, Json::error_handler_t::replace))},
                          {"script", std::string(detail::kPageJs)}});
}

std::filesystem::path write_html_report(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "report.html";
  write_file_atomically(path, html_report(load_run(folder)));
  return path;
}

}  // namespace feroma
