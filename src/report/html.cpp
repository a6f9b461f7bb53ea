#include "feroma/report/html.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "feroma/core/files.h"
#include "report/assets.h"
#include "report/heat_map.h"
#include "report/line_chart.h"
#include "report/markup.h"
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
    html += fmt::format("<th scope=\"col\">{} before</th><th scope=\"col\">after</th>", escape_html(curve.label));
  }
  html += "</tr></thead><tbody>";
  const auto cell = [](const std::optional<double>& value) {
    return value ? fmt::format("<td>{:.2f}</td>", *value) : std::string("<td class=\"none\">-</td>");
  };
  for (int round = data.first; round <= data.last; ++round) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", round);
    for (const detail::Curve& curve : data.curves) {
      const auto place = static_cast<std::size_t>(round - data.first);
      html += cell(curve.before[place]) + cell(curve.after[place]);
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div></details>";
}

std::string accuracy_section(const detail::CurveData& data) {
  if (data.curves.empty()) {
    return "";
  }
  std::string html =
      "<section><h2>Accuracy over rounds</h2><p class=\"lead\">Mean held-out accuracy of the training clients in "
      "percent: "
      "what a client receives (dashed) and what it has after training on its own data (solid).";
  html += data.drifts.empty() ? "</p>" : " Dotted lines mark where clients' data changed.</p>";
  html += R"(<div class="keys">)";
  for (std::size_t i = 0; i < data.curves.size(); ++i) {
    html += fmt::format(
        R"(<button type="button" aria-pressed="true" data-series="{}"><i class="swatch c{}"></i>{}</button>)", i,
        i % detail::kColours, escape_html(data.curves[i].label));
  }
  html += R"(<span><svg viewBox="0 0 28 8"><path class="before" d="M1 4H27"/></svg>before training</span>)"
          R"(<span><svg viewBox="0 0 28 8"><path d="M1 4H27"/></svg>after</span></div>)";
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

/// One heat map: the script draws into it what `data` holds under the same number.
std::string mixing_figure(const Json& mixing, std::size_t number) {
  const std::size_t shown = mixing["rounds"].size();
  const std::size_t of = mixing["of"].get<std::size_t>();
  const std::string label = escape_html(mixing["label"].get<std::string>());
  const std::string note = shown < of ? fmt::format(" ({} of {} rounds)", shown, of) : "";
  return fmt::format(
      "<figure data-mixing=\"{0}\"><h3>{1}{2}</h3><div class=\"heat\"><canvas role=\"img\" aria-label=\"Mixing "
      "weights\">"
      "</canvas><div class=\"axes\"><span>rows: receiving clients</span><span>columns: source "
      "clients</span></div></div>"
      "<div class=\"controls\"><button type=\"button\">▶ Play</button><input type=\"range\" min=\"0\" max=\"{3}\" "
      "value=\"{3}\" aria-label=\"Round of {1}\"><output></output></div><dl class=\"facts\"><div><dt>contraction</dt>"
      "<dd></dd></div><div><dt>column sums</dt><dd></dd></div></dl></figure>",
      number, label, note, shown - 1);
}

std::string mixing_section(const Json& all) {
  if (all.empty()) {
    return "";
  }
  std::string figures;
  for (std::size_t i = 0; i < all.size(); ++i) {
    figures += mixing_figure(all[i], i);
  }
  return fmt::format(
      "<section><h2>Who learns from whom</h2><p class=\"lead\">Each row is a client's new model, each column a client "
      "whose model went into it, and the stronger the colour of a cell the larger its weight; clients with the same "
      "kind "
      "of data form blocks.</p>"
      "<div class=\"options\"><label><input type=\"checkbox\" id=\"sort\" checked>sort by distribution</label>"
      "<div class=\"scale\"><span>weight</span><i></i><span class=\"ticks\"></span></div></div>"
      "<div class=\"figures\">{}<p class=\"note\">The strips along rows and columns show the true distribution of "
      "the receiver's data and of the data the source was trained on. Contraction is how much disagreement between "
      "models survives the mixing: 0 means that everyone gets the same model, 1 that groups stay apart. A column sum "
      "far above 1 means that one client's model spreads widely.</p></div></section>\n",
      figures);
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
                      {"before", list(data.curves[i].before)},
                      {"after", list(data.curves[i].after)}});
  }
  return {{"first", data.first}, {"last", data.last}, {"series", std::move(series)}};
}

Json mixing_json(const RunData& run) {
  const auto with = std::count_if(run.algorithms.begin(), run.algorithms.end(),
                                  [](const AlgorithmRun& algorithm) { return !algorithm.mixing.empty(); });
  Json all = Json::array();
  for (const AlgorithmRun& algorithm : run.algorithms) {
    if (!algorithm.mixing.empty()) {
      all.push_back(detail::heat_map_json(algorithm, detail::kCellBudget / static_cast<std::size_t>(with)));
    }
  }
  return all;
}

}  // namespace

std::string html_report(const RunData& run) {
  const detail::CurveData curves = detail::curves_of(run.algorithms);
  const Json mixing = mixing_json(run);
  const Json data{{"accuracy", curve_json(curves)}, {"mixing", mixing}};
  const std::string sections = detail::tiles_html(run) + detail::results_html(run) + accuracy_section(curves) +
                               strategy_section(run) + mixing_section(mixing) + config_section(run);
  return detail::fill_template(
      detail::kPageHtml, {{"title", escape_html(run.name)},
                          {"style", std::string(detail::kStyleCss)},
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
