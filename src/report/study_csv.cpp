#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "feroma/report/study.h"
#include "report/csv.h"

namespace feroma {
namespace {

/// New columns come last: readers know the others by their places. What a published figure is headed with stands in
/// front, what our runs are at the end; of figures set aside, and where headings are swapped, the two differ.
constexpr std::string_view kHeader =
    "table,dataset,shift,level,drift,clients,method,variant,metric,label,seeds,mean,std,published_mean,published_std,"
    "published_printed,difference,our_dataset,our_level,our_drift\n";

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.10g}", *value) : ""; }

std::string line(const std::vector<std::string>& fields) {
  std::string text;
  for (const std::string& field : fields) {
    text += detail::csv_field(field);
    text += ',';
  }
  text.back() = '\n';
  return text;
}

std::string table_lines(const PaperTable& table) {
  std::string text;
  for (const PaperRow& row : table.rows) {
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      const PaperValue& value = row.values[c];
      if (value.figure == nullptr) {
        continue;  // the paper has no such figure
      }
      const PublishedFigure& f = *value.figure;
      // The cost table has several figures of ours for one of the paper's; their columns tell them apart.
      const std::string metric = table.name == "comm_cost" ? table.columns[c].title : f.metric;
      const std::string method = row.name == kNotPublished ? "" : f.method;
      text += line({table.name,
                    f.dataset,
                    f.shift,
                    f.level,
                    f.drift,
                    f.clients,
                    method,
                    f.variant,
                    metric,
                    row.label,
                    value.ours ? fmt::format("{}", value.seeds) : "0",
                    number(value.ours),
                    number(value.ours_std),
                    number(value.published),
                    number(value.published_std),
                    number(value.printed),
                    number(value.difference()),
                    value.our_dataset,
                    value.our_level,
                    value.our_drift});
    }
  }
  return text;
}

std::string group_lines(const ResultGroup& group) {
  const auto setting = [&group](const char* key) {
    const auto found = group.settings.find(key);
    return found == group.settings.end() ? std::string() : plain_text(found->second);
  };
  const std::string dataset = setting("scenario.dataset");
  const std::string level = setting("scenario.level");
  const std::string drift = setting("scenario.drifts") + "/" + setting("scenario.rounds");
  std::string more;  // what else tells this group from others
  for (const auto& [key, value] : group.facts) {
    if (key.find('.') != std::string::npos || key == "generator") {
      more += fmt::format("{}{}={}", more.empty() ? "" : "; ", key, value);
    }
  }
  std::string text;
  for (const GroupRow& row : group.rows) {
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      if (!row.values[c]) {
        continue;
      }
      const GroupColumn& column = group_columns()[c];
      const MeanDeviation value = in_own_unit(column, *row.values[c]);
      text += line({"results",
                    dataset,
                    setting("scenario.shift"),
                    level,
                    drift,
                    setting("scenario.clients"),
                    "",
                    more,
                    column.name,
                    row.label,
                    fmt::format("{}", value.count),
                    number(value.mean),
                    number(value.deviation),
                    "",
                    "",
                    "",
                    "",
                    dataset,
                    level,
                    drift});
    }
  }
  return text;
}

}  // namespace

std::string study_csv(const Study& study) {
  std::string text(kHeader);
  for (const PaperTable& table : study.tables) {
    text += table_lines(table);
  }
  for (const ResultGroup& group : study.groups) {
    text += group_lines(group);
  }
  return text;
}

}  // namespace feroma
