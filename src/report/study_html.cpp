#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "feroma/report/figures.h"
#include "report/assets.h"
#include "report/cell_text.h"
#include "report/comparison_rows.h"
#include "report/markup.h"
#include "report/mixing_section.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;
using detail::escape_html;

std::string notes_html(const std::vector<std::string>& notes) {
  if (notes.empty()) {
    return "";
  }
  std::string html = "<ul class=\"notes\">";
  for (const std::string& note : notes) {
    html += "<li>" + escape_html(note) + "</li>";
  }
  return html + "</ul>";
}

std::string paper_cell_html(const PaperValue& value, const PaperColumn& column) {
  const detail::Tone tone = detail::tone_of(value, column);
  const char* kind = !value.ours                  ? "missing"
                     : tone == detail::Tone::good ? "gain"
                     : tone == detail::Tone::bad  ? "loss"
                                                  : "";
  const std::string why =
      value.not_applicable ? fmt::format(" title=\"{}\"", escape_html(*value.not_applicable)) : std::string();
  std::string html =
      fmt::format("<td class=\"{}\"{}><b class=\"ours\">{}</b>", kind, why, detail::ours_text(value, column.digits));
  if (value.published) {
    html += fmt::format("<small>{}</small>", detail::published_text(value, column.digits));
  }
  if (value.printed) {
    html += fmt::format("<small>printed {:.{}f}</small>", *value.printed, column.digits);
  }
  const std::string difference = detail::difference_text(value, column.digits);
  if (!difference.empty()) {
    const char* sign = tone == detail::Tone::good ? "▲ " : tone == detail::Tone::bad ? "▼ " : "";
    html += fmt::format("<small class=\"apart\">{}{}</small>", sign, difference);
  }
  return html + "</td>";
}

std::string paper_section(const PaperTable& table) {
  std::string html = fmt::format(
      "<section id=\"{0}\"><h2>{0}</h2><p class=\"lead\">{1}. Ours ± deviation over seeds; below it what the paper "
      "states, and the difference: ▲ to our favour, ▼ not.</p><div class=\"scroll\" tabindex=\"0\"><table "
      "class=\"paper-table\"><thead>"
      "<tr><th scope=\"col\">{0}</th>",
      escape_html(table.name), escape_html(table.title));
  for (const PaperColumn& column : table.columns) {
    html += "<th scope=\"col\">" + escape_html(column.title) + "</th>";
  }
  html += "</tr></thead><tbody>";
  for (const PaperRow& row : table.rows) {
    html += fmt::format("<tr><th scope=\"row\">{}<small>{}</small></th>", escape_html(row.name),
                        row.label.empty() ? "no run of ours" : escape_html(row.label));
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      html += paper_cell_html(row.values[c], table.columns[c]);
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div>" + notes_html(table.notes) + "</section>\n";
}

std::string group_section(const ResultGroup& group) {
  std::string html = fmt::format(
      "<section><h2>{}</h2><p class=\"lead\">Mean over seeds ± standard deviation.</p><div class=\"scroll\" "
      "tabindex=\"0\"><table>"
      "<thead><tr><th scope=\"col\">algorithm</th><th scope=\"col\">rank</th><th scope=\"col\">seeds</th>",
      escape_html(group.title));
  const std::vector<std::size_t> columns = group.shown_columns();
  for (const std::size_t c : columns) {
    html += "<th scope=\"col\">" + escape_html(group_columns()[c].title) + "</th>";
  }
  html += "</tr></thead><tbody>";
  for (const GroupRow& row : group.rows) {
    const std::string reason = row.not_applicable.value_or(row.failed.value_or(""));
    html += fmt::format("<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td>",
                        reason.empty() ? "" : fmt::format(" title=\"{}\"", escape_html(reason)), escape_html(row.label),
                        row.rank ? fmt::format("{}", *row.rank) : "-", row.seeds);
    for (const std::size_t c : columns) {
      const std::optional<MeanDeviation>& value = row.shown(c);
      html += value ? fmt::format("<td>{}</td>",
                                  detail::spread_text(value->mean, value->deviation, group_columns()[c].digits))
                    : fmt::format("<td class=\"none\">{}</td>", row.no_value());
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div></section>\n";
}

std::string comparison_section(const Comparison& comparison) {
  std::string html = fmt::format(
      "<section><h2>Which differ</h2><p class=\"lead\">Over {} that all of these have. Friedman's chi-square {:.2f}, p "
      "{}. Against {}: by how many points it leads, over how many "
      "settings and seeds (n), and two-sided p values of paired tests.</p><div class=\"scroll\" "
      "tabindex=\"0\"><table><thead><tr>",
      comparison.count_text(comparison.friedman.blocks), comparison.friedman.chi_square,
      escape_html(detail::p_text(comparison.friedman.p)), escape_html(comparison.reference));
  for (const std::string& heading : detail::comparison_headings(comparison)) {
    html += "<th scope=\"col\">" + escape_html(heading) + "</th>";
  }
  html += "</tr></thead><tbody>";
  for (const std::vector<std::string>& row : detail::comparison_rows(comparison)) {
    html += "<tr><th scope=\"row\">" + escape_html(row.front()) + "</th>";
    for (std::size_t c = 1; c < row.size(); ++c) {
      html += row[c] == "-" ? std::string("<td class=\"none\">-</td>") : "<td>" + escape_html(row[c]) + "</td>";
    }
    html += "</tr>";
  }
  return html + "</tbody></table></div>" + notes_html(comparison.notes()) + "</section>\n";
}

std::string figures_section(const std::string& title, const std::string& lead, const std::vector<Figure>& figures,
                            const std::vector<std::string>& undrawn = {}) {
  if (figures.empty()) {
    return "";
  }
  std::string html = fmt::format("<section><h2>{}</h2><p class=\"lead\">{}</p><div class=\"figures\">",
                                 escape_html(title), escape_html(lead));
  for (const Figure& figure : figures) {
    html +=
        fmt::format("<figure id=\"{}\"><h3>{}</h3>{}<figcaption>{}</figcaption>{}</figure>", escape_html(figure.name),
                    escape_html(figure.title), figure.svg, escape_html(figure.caption), figure.numbers);
  }
  return html + "</div>" + notes_html(undrawn) + "</section>\n";
}

std::string chips_html(const Study& study) {
  std::size_t finished = 0;
  for (const RunEntry& run : study.set.runs) {
    finished += run.summary ? 1U : 0U;
  }
  return fmt::format("<li>runs <b>{}</b></li><li>finished <b>{}</b></li><li>settings <b>{}</b></li>",
                     study.set.runs.size(), finished, study.groups.size());
}

}  // namespace

std::string study_html(const Study& study, const std::vector<PublishedFigure>& published,
                       const std::vector<RunData>& runs, const std::string& title) {
  std::string sections;
  if (!study.notes.empty()) {
    sections += "<section><h2>Left out</h2>" + notes_html(study.notes) + "</section>\n";
  }
  for (const PaperTable& table : study.tables) {
    sections += paper_section(table);
  }
  if (study.comparison) {
    sections += comparison_section(*study.comparison);
  }
  sections += figures_section("Figures", "What the runs show together.", study_figures(study, published));
  for (const ResultGroup& group : study.groups) {  // after what they show together: a sweep has dozens
    sections += group_section(group);
  }
  if (runs.size() < study.groups.size()) {
    sections += fmt::format(
        "<section><h2>Settings one by one</h2><p class=\"lead\">Drawn are {} of {} settings; --runs draws more.</p>"
        "</section>\n",
        runs.size(), study.groups.size());
  }
  for (const RunData& run : runs) {
    sections +=
        figures_section(run.title.empty() ? "Run " + run.name : run.title,
                        "Of this setting the first run of each algorithm.", run_figures(run), undrawn_figures(run));
  }
  const Json mixing = detail::mixing_json(runs);
  sections += detail::mixing_section(mixing);
  const Json data{{"accuracy", nullptr}, {"mixing", mixing}};
  return detail::fill_template(
      detail::kPageHtml, {{"title", escape_html(title)},
                          {"style", std::string(detail::kStyleCss) + std::string(detail::kChartCss)},
                          {"chips", chips_html(study)},
                          {"sections", sections},
                          {"version", FEROMA_VERSION},
                          {"data", detail::escape_script(data.dump(-1, ' ', false, Json::error_handler_t::replace))},
                          {"script", std::string(detail::kPageJs)}});
}

}  // namespace feroma
