#include <fmt/core.h>

#include "feroma/report/study.h"
#include "report/cell_text.h"
#include "report/comparison_rows.h"
#include "report/text_grid.h"

namespace feroma {
namespace {

using detail::TextCell;
using Rows = std::vector<std::vector<TextCell>>;

/// Three lines a row: ours, the paper's, the difference.
std::string table_text(const PaperTable& table, bool colour) {
  Rows rows{{{table.name}, {""}}};
  for (const PaperColumn& column : table.columns) {
    rows[0].push_back({column.title});
  }
  for (const PaperRow& row : table.rows) {
    std::vector<TextCell> ours{{row.name}, {row.label.empty() ? "ours" : row.label}};
    std::vector<TextCell> theirs{{""}, {"published"}};
    std::vector<TextCell> printed{{""}, {"as printed"}};
    std::vector<TextCell> apart{{""}, {"difference"}};
    bool any = false;
    bool anew = false;
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      const PaperValue& value = row.values[c];
      const int digits = table.columns[c].digits;
      ours.push_back({detail::ours_text(value, digits)});
      theirs.push_back({detail::published_text(value, digits)});
      apart.push_back({detail::difference_text(value, digits), detail::tone_of(value, table.columns[c])});
      printed.push_back({value.printed ? detail::spread_text(*value.printed, std::nullopt, digits) : ""});
      any = any || value.difference().has_value();
      anew = anew || value.printed.has_value();
    }
    rows.push_back(std::move(ours));
    rows.push_back(std::move(theirs));
    if (anew) {
      rows.push_back(std::move(printed));
    }
    if (any) {
      rows.push_back(std::move(apart));
    }
  }
  std::string text = fmt::format("{}\n{}", table.title, detail::text_grid(rows, /*left=*/2, colour));
  for (const std::string& note : table.notes) {
    text += fmt::format("- {}\n", note);
  }
  const auto [filled, all] = table.filled();
  return text + fmt::format("{} of {} figures are there\n", filled, all);
}

std::string group_text(const ResultGroup& group) {
  Rows rows{{{"algorithm"}, {"#"}, {"seeds"}}};
  for (const GroupRow& row : group.rows) {
    rows.push_back({{row.label}, {row.rank ? fmt::format("{}", *row.rank) : "-"}, {fmt::format("{}", row.seeds)}});
  }
  for (const std::size_t c : group.shown_columns()) {
    const GroupColumn& column = group_columns()[c];
    rows[0].push_back({column.title});
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      const std::optional<MeanDeviation>& value = group.rows[i].shown(c);
      rows[i + 1].push_back({value ? detail::spread_text(value->mean, value->deviation, column.digits)
                                   : std::string(group.rows[i].no_value())});
    }
  }
  std::string text = fmt::format("{}\n{}", group.title, detail::text_grid(rows, /*left=*/1, /*colour=*/false));
  for (const GroupRow& row : group.rows) {
    if (row.failed) {
      text += fmt::format("{}: {}\n", row.label, *row.failed);
    }
  }
  return text;
}

std::string comparison_text(const Comparison& comparison) {
  std::string text =
      fmt::format("over {}: Friedman's chi-square {:.2f}, p {}; mean ranks differ beyond {:.2f} (Nemenyi, 0.05)\n",
                  comparison.count_text(comparison.friedman.blocks), comparison.friedman.chi_square,
                  detail::p_text(comparison.friedman.p), comparison.critical_difference);
  Rows rows;
  const auto add = [&rows](const std::vector<std::string>& cells) {
    std::vector<TextCell>& row = rows.emplace_back();
    for (const std::string& cell : cells) {
      row.push_back({cell});
    }
  };
  add(detail::comparison_headings(comparison));
  for (const std::vector<std::string>& row : detail::comparison_rows(comparison)) {
    add(row);
  }
  text += detail::text_grid(rows, /*left=*/1, /*colour=*/false);
  for (const std::string& note : comparison.notes()) {
    text += fmt::format("- {}\n", note);
  }
  return text;
}

}  // namespace

std::string study_text(const Study& study, bool colour) {
  std::string text;
  const auto part = [&text](const std::string& more) { text += (text.empty() ? "" : "\n") + more; };
  for (const PaperTable& table : study.tables) {
    part(table_text(table, colour));
  }
  if (study.tables.empty()) {
    for (const ResultGroup& group : study.groups) {
      part(group_text(group));
    }
  }
  if (study.comparison) {
    part(comparison_text(*study.comparison));
  }
  return text.empty() ? "no finished run, so there are no results yet\n" : text;
}

}  // namespace feroma
