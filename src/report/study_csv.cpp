#include <fmt/core.h>

#include <optional>
#include <string>
#include <string_view>

#include "feroma/report/study.h"
#include "report/csv.h"

namespace feroma {
namespace {

/// New columns come last: readers know the others by their places. What a published figure is headed with stands in
/// front, what our runs are behind it; of figures set aside, and where headings are swapped, the two differ.
constexpr std::string_view kStudyHeader =
    "table,dataset,shift,level,drift,clients,method,variant,metric,label,seeds,mean,std,published_mean,published_std,"
    "published_printed,difference,our_dataset,our_level,our_drift,cells_found,cells_needed\n";

/// The fields of a line, in the order of the header.
struct Line {
  std::string table = {};
  std::string dataset = {};
  std::string shift = {};
  std::string level = {};
  std::string drift = {};
  std::string clients = {};
  std::string method = {};
  std::string variant = {};
  std::string metric = {};
  std::string label = {};
  std::string seeds = {};
  std::string mean = {};
  std::string deviation = {};
  std::string published_mean = {};
  std::string published_std = {};
  std::string published_printed = {};
  std::string difference = {};
  std::string our_dataset = {};
  std::string our_level = {};
  std::string our_drift = {};
  std::string cells_found = {};
  std::string cells_needed = {};
};

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.10g}", *value) : ""; }
std::string number(std::size_t value) { return fmt::format("{}", value); }

std::string csv_line(const Line& line) {
  std::string text;
  for (const std::string* field :
       {&line.table,       &line.dataset,        &line.shift,         &line.level,
        &line.drift,       &line.clients,        &line.method,        &line.variant,
        &line.metric,      &line.label,          &line.seeds,         &line.mean,
        &line.deviation,   &line.published_mean, &line.published_std, &line.published_printed,
        &line.difference,  &line.our_dataset,    &line.our_level,     &line.our_drift,
        &line.cells_found, &line.cells_needed}) {
    text += detail::csv_field(*field);
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
      text += csv_line({.table = table.name,
                        .dataset = f.dataset,
                        .shift = f.shift,
                        .level = f.level,
                        .drift = f.drift,
                        .clients = f.clients,
                        .method = row.name == kNotPublished ? "" : f.method,
                        .variant = f.variant,
                        // The cost table has several figures of ours for one of the paper's; columns tell them apart.
                        .metric = table.name == "comm_cost" ? table.columns[c].title : f.metric,
                        .label = row.label,
                        .seeds = number(value.ours ? value.seeds : 0),
                        .mean = number(value.ours),
                        .deviation = number(value.ours_std),
                        .published_mean = number(value.published),
                        .published_std = number(value.published_std),
                        .published_printed = number(value.printed),
                        .difference = number(value.difference()),
                        .our_dataset = value.our_dataset,
                        .our_level = value.our_level,
                        .our_drift = value.our_drift,
                        .cells_found = number(value.cells_found),
                        .cells_needed = number(value.cells_needed)});
    }
  }
  return text;
}

std::string group_lines(const ResultGroup& group) {
  const auto setting = [&group](const char* key) {
    const auto found = group.settings.find(key);
    return found == group.settings.end() ? std::string() : plain_text(found->second);
  };
  Line line{.table = "results",
            .dataset = setting("scenario.dataset"),
            .shift = setting("scenario.shift"),
            .level = setting("scenario.level"),
            .drift = setting("scenario.drifts") + "/" + setting("scenario.rounds"),
            .clients = setting("scenario.clients")};
  line.our_dataset = line.dataset;
  line.our_level = line.level;
  line.our_drift = line.drift;
  for (const auto& [key, value] : group.facts) {  // what else tells this group from others
    if (key.find('.') != std::string::npos || key == "generator") {
      line.variant += fmt::format("{}{}={}", line.variant.empty() ? "" : "; ", key, value);
    }
  }
  std::string text;
  for (const GroupRow& row : group.rows) {
    line.label = row.label;
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      if (row.values[c]) {
        const GroupColumn& column = group_columns()[c];
        const MeanDeviation value = in_own_unit(column, *row.values[c]);
        line.metric = column.name;
        line.seeds = number(value.count);
        line.mean = number(std::optional(value.mean));
        line.deviation = number(value.deviation);
        text += csv_line(line);
      }
    }
  }
  return text;
}

/// Ranks over settings, or seeds where there is one setting alone, and tests over settings and seeds: `seeds` is how
/// many those are.
std::string comparison_lines(const Comparison& comparison) {
  std::string text;
  Line line{.table = "comparison"};
  const auto add = [&text, &line](const char* metric, std::size_t count, const std::optional<double>& value) {
    line.metric = metric;
    line.seeds = number(count);
    line.mean = number(value);
    text += value ? csv_line(line) : "";
  };
  const std::size_t blocks = comparison.friedman.blocks;
  add("friedman_chi_square", blocks, comparison.friedman.chi_square);
  add("friedman_p", blocks, comparison.friedman.p);
  add("critical_difference", blocks, comparison.critical_difference);
  for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
    line.label = comparison.labels[i];
    add("mean_rank", blocks, comparison.friedman.mean_ranks[i]);
  }
  line.variant = "versus " + comparison.reference;
  for (const Comparison::Pair& pair : comparison.pairs) {
    line.label = pair.label;
    add("mean_difference", pair.n, pair.mean_difference);
    add("wilcoxon_p", pair.n, pair.wilcoxon ? std::optional(pair.wilcoxon->p) : std::nullopt);
    add("wilcoxon_p_holm", pair.n, pair.adjusted);
    add("t_p", pair.n, pair.t ? std::optional(pair.t->p) : std::nullopt);
  }
  return text;
}

}  // namespace

std::string study_csv(const Study& study) {
  std::string text(kStudyHeader);
  for (const PaperTable& table : study.tables) {
    text += table_lines(table);
  }
  for (const ResultGroup& group : study.groups) {
    text += group_lines(group);
  }
  return text + (study.comparison ? comparison_lines(*study.comparison) : "");
}

}  // namespace feroma
