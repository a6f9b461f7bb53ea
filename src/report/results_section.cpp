#include "report/results_section.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "report/line_chart.h"
#include "report/markup.h"
#include "report/result_table.h"

namespace feroma::detail {
namespace {

std::string tile(const std::string& title, const std::string& value, const std::string& unit, const std::string& note) {
  return fmt::format(R"(<div class="tile"><p>{}</p><strong>{} <small>{}</small></strong><p>{}</p></div>)", title, value,
                     unit, escape_html(note));
}

/// Results that have an accuracy, best first.
std::vector<ResultRecord> ranked(std::vector<ResultRecord> results) {
  std::erase_if(results, [](const ResultRecord& result) { return !std::isfinite(result.accuracy); });
  std::stable_sort(results.begin(), results.end(),
                   [](const ResultRecord& a, const ResultRecord& b) { return a.accuracy > b.accuracy; });
  return results;
}

std::string duration(double seconds) {
  return seconds < 100 ? fmt::format("{:.1f}", seconds) : fmt::format("{:.1f}", seconds / 60);
}

std::string cell(const ResultColumn& column, std::size_t row) {
  if (!column.values[row]) {
    return fmt::format(R"(<td class="none">{}</td>)", column.texts[row]);
  }
  if (column.values[row] == column.best()) {
    return fmt::format(R"(<td class="best"><b>{}</b></td>)", column.texts[row]);
  }
  return fmt::format("<td>{}</td>", column.texts[row]);
}

/// What each algorithm's profiles promise, where they are noised at all.
std::string privacy_html(const std::vector<ResultRecord>& results) {
  std::string lines;
  for (const ResultRecord& result : results) {
    if (result.dp_guarantee) {
      const std::string spent = result.epsilon ? fmt::format(" Spent so far: epsilon {:.3g}.", *result.epsilon) : "";
      lines += fmt::format("<p><b>{}</b>: privacy: {}{}</p>", escape_html(result.label),
                           escape_html(*result.dp_guarantee), spent);
    }
  }
  return lines;
}

}  // namespace

std::size_t colour_of(const RunData& run, const std::string& label) {
  for (std::size_t i = 0; i < run.algorithms.size(); ++i) {
    if (run.algorithms[i].label == label) {
      return i % kColours;
    }
  }
  return 0;
}

std::string tiles_html(const RunData& run) {
  if (!run.summary || run.summary->results.empty()) {
    return "";
  }
  const std::vector<ResultRecord> results = ranked(run.summary->results);
  if (results.empty()) {
    return "";
  }
  const ResultRecord& best = results.front();
  double seconds = 0;
  for (const ResultRecord& result : results) {
    seconds += result.seconds_total;
  }
  std::string tiles = tile(best.metric == "accuracy" ? "Best accuracy" : "Best " + escape_html(best.metric),
                           fmt::format("{:.2f}", best.accuracy), "%", best.label);
  if (results.size() > 1) {
    tiles += tile("Lead", fmt::format("{:.2f}", best.accuracy - results[1].accuracy), "points",
                  "over " + results[1].label + ", the next best");
  }
  tiles += tile("Worst tenth of clients", fmt::format("{:.2f}", best.accuracy_worst10), "%", best.label);
  tiles += tile("Time", duration(seconds), seconds < 100 ? "s" : "min",
                results.size() == 1 ? "one algorithm" : fmt::format("{} algorithms", results.size()));
  return fmt::format(R"(<div class="tiles">{}</div>)", tiles);
}

std::string results_html(const RunData& run) {
  if (!run.summary || run.summary->results.empty()) {
    return "<section><h2>Results</h2><p class=\"lead\">The run has not finished; there is no summary "
           "yet.</p></section>";
  }
  const std::vector<ResultRecord>& results = run.summary->results;
  const std::vector<ResultColumn> columns = result_columns(results);
  std::string html =
      "<section><h2>Results</h2><p class=\"lead\">How well each algorithm serves test clients whose data it has not "
      "seen, in percent; the best value of a column is marked.</p><div class=\"scroll\"><table><thead><tr>"
      "<th scope=\"col\">algorithm</th>";
  for (const ResultColumn& column : columns) {
    html += fmt::format(R"(<th scope="col" title="{}">{}</th>)", column.help, escape_html(column.title));
  }
  html += "</tr></thead><tbody>";
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string reason = results[i].not_applicable.value_or(results[i].failed.value_or(""));
    html += reason.empty() ? "<tr>" : fmt::format(R"(<tr title="{}">)", escape_html(reason));
    html += fmt::format(R"(<th scope="row"><i class="swatch c{}"></i>{}</th>)", colour_of(run, results[i].label),
                        escape_html(results[i].label));
    for (const ResultColumn& column : columns) {
      html += cell(column, i);
    }
    html += "</tr>";
  }
  html += "</tbody></table></div><ul class=\"notes\">";
  for (const std::string& line : explanations_of(columns)) {
    html += fmt::format("<li>{}</li>", escape_html(line));
  }
  return html + "</ul>" + privacy_html(results) + "</section>\n";
}

}  // namespace feroma::detail
