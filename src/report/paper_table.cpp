#include "feroma/report/paper_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "feroma/core/error.h"
#include "feroma/core/options.h"
#include "report/cost_table.h"
#include "report/paper_beside.h"
#include "report/paper_filler.h"
#include "report/paper_layout.h"
#include "report/paper_map.h"
#include "report/paper_notes.h"

namespace feroma {
namespace {

using detail::Filler;
using detail::PaperCell;
using detail::PaperLayout;

std::string joined(const PublishedFigure& figure, const std::vector<std::string_view>& fields) {
  std::string text;
  for (const std::string_view field : fields) {
    const std::string& part = detail::field_of(figure, field);
    if (!text.empty() && !part.empty()) {
      text += ' ';
    }
    text += part;
  }
  return text;
}

/// The place of `name` in a list that it is added to where it is new.
template <class List, class Make>
std::size_t place_of(List& list, const std::string& name, std::map<std::string, std::size_t>& places, Make&& make) {
  const auto [found, is_new] = places.emplace(name, list.size());
  if (is_new) {
    list.push_back(make());
  }
  return found->second;
}

PaperColumn column_for(const PublishedFigure& figure, const std::string& title) {
  const bool accuracy = figure.metric == "accuracy";
  std::string shown = title;
  for (const auto& [metric, words] : {std::pair<std::string_view, std::string_view>{"accuracy", "accuracy"},
                                      {"log2_seconds", "log2 s"},
                                      {"profile_distance_error_max", "max"},
                                      {"profile_distance_error_min", "min"},
                                      {"profile_distance_error", "mean"}}) {
    if (title.ends_with(fmt::format(" {}", metric))) {
      shown = title.substr(0, title.size() - metric.size()) + std::string(words);
      break;
    }
  }
  return {shown, accuracy, figure.table == "eps_R1" ? 3 : 2};
}

/// A table's figures by row and column, in the paper's order.
struct Grid {
  std::vector<PaperColumn> columns;
  std::vector<std::string> rows;
  std::map<std::pair<std::size_t, std::size_t>, const PublishedFigure*> figures;
};

Grid grid_of(const std::string& name, const PaperLayout& layout, const std::vector<PublishedFigure>& published) {
  Grid grid;
  std::map<std::string, std::size_t> rows;
  std::map<std::string, std::size_t> columns;
  for (const PublishedFigure& figure : published) {
    if (figure.table == name) {
      const std::string row = joined(figure, layout.rows);
      const std::string column = joined(figure, layout.columns);
      const std::size_t r = place_of(grid.rows, row, rows, [&] { return row; });
      const std::size_t c = place_of(grid.columns, column, columns, [&] { return column_for(figure, column); });
      require(grid.figures.emplace(std::pair(r, c), &figure).second, ErrorCode::invalid_data,
              "[report] table {} has row {}, column {} twice", name, row, column);
    }
  }
  return grid;
}

/// Values of our labels in one row, by column.
class RowsByLabel {
 public:
  explicit RowsByLabel(std::size_t columns) : columns_(columns) {}

  void add(std::size_t column, const std::map<std::string, PaperValue>& values) {
    for (const auto& [label, value] : values) {
      rows_.try_emplace(label, std::vector<PaperValue>(columns_)).first->second[column] = value;
    }
  }

  /// Moves the rows to a table; where a label has nothing, `without` stands.
  void append_to(PaperTable& table, const std::string& name, const std::vector<PaperValue>& without) {
    for (auto& [label, values] : rows_) {
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] = values[c].figure == nullptr ? without[c] : values[c];
      }
      table.rows.push_back({name, label, std::move(values)});
    }
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }

 private:
  std::size_t columns_;
  std::map<std::string, std::vector<PaperValue>> rows_;
};

void fill_cells(const Grid& grid, Filler& filler, PaperTable& table) {
  RowsByLabel others(grid.columns.size());
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    RowsByLabel rows(grid.columns.size());
    std::vector<PaperValue> without(grid.columns.size());
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const auto found = grid.figures.find({r, c});
      if (found == grid.figures.end()) {
        continue;  // the paper has no such figure: "N/A" there
      }
      const PublishedFigure& figure = *found->second;
      const std::vector<PaperCell> cells = detail::cells_of(figure);
      without[c] = filler.theirs(figure, cells.size());
      rows.add(c, filler.fill(cells, without[c]));
      PaperValue aside = without[c];
      aside.comparable = false;
      aside.aside = true;
      rows.add(c, filler.fill(detail::cells_aside(figure), aside));
      if (figure.method == "Feroma") {
        PaperValue alone;
        alone.figure = &figure;
        alone.cells_needed = cells.size();
        others.add(c, filler.fill(detail::cells_of_others(figure), alone));
      }
    }
    rows.append_to(table, grid.rows[r], without);
    if (rows.empty()) {
      table.rows.push_back({grid.rows[r], "", std::move(without)});
    }
  }
  others.append_to(table, kNotPublished, std::vector<PaperValue>(grid.columns.size()));
}

/// Requirement R1 is measured by `feroma bench`, not by runs.
void fill_requirement(const Grid& grid, Filler& filler, const RunSet& set, PaperTable& table) {
  const RequirementOne& ours = set.requirement.value_or(RequirementOne{});
  const std::map<std::string, double>& measured = ours.values;
  for (std::size_t r = 0; r < grid.rows.size(); ++r) {
    PaperRow row{grid.rows[r], "", std::vector<PaperValue>(grid.columns.size())};
    for (std::size_t c = 0; c < grid.columns.size(); ++c) {
      const auto figure = grid.figures.find({r, c});
      if (figure == grid.figures.end()) {
        continue;
      }
      row.values[c] = filler.theirs(*figure->second, 1);
      const std::string stem = fmt::format("gap_{}_{}_", figure->second->variant, figure->second->level);
      const std::string_view metric = figure->second->metric;
      const auto found = measured.find(stem + (metric.ends_with("_max")   ? "max"
                                               : metric.ends_with("_min") ? "min"
                                                                          : "mean"));
      if (found != measured.end()) {
        row.label = "feroma-paper";
        row.values[c].ours = found->second;
        row.values[c].cells_found = 1;
        row.values[c].seeds = 1;  // a bench trains once
        row.values[c].comparable = ours.differs.empty();
        const auto deviation = measured.find(stem + "std");
        if (found->first.ends_with("mean") && deviation != measured.end()) {
          row.values[c].ours_std = deviation->second;
        }
      }
    }
    table.rows.push_back(std::move(row));
  }
  table.notes.push_back(
      "ours is read from requirements.json: feroma bench --requirements --format json > DIR/requirements.json");
  if (!ours.differs.empty()) {
    table.notes.push_back(fmt::format("no differences: ours is {}, the paper's of MNIST in full", ours.differs));
  }
}

}  // namespace

std::optional<double> PaperValue::difference() const {
  return comparable && ours && published ? std::optional(*ours - *published) : std::nullopt;
}

std::pair<std::size_t, std::size_t> PaperTable::filled() const {
  std::pair<std::size_t, std::size_t> counts{0, 0};
  for (const PaperRow& row : rows) {
    for (const PaperValue& value : row.values) {
      if (value.ours && value.seeds == 0) {
        continue;  // computed
      }
      counts.first += value.ours ? 1U : 0U;
      const bool possible = (value.figure != nullptr || row.name == kNotPublished) && !value.not_applicable;
      counts.second += possible ? 1U : 0U;
    }
  }
  return counts;
}

bool PaperTable::is_measured() const {
  return std::any_of(rows.begin(), rows.end(), [](const PaperRow& row) {
    return std::any_of(row.values.begin(), row.values.end(), [](const PaperValue& value) {
      return value.published && !value.aside && (value.ours || value.cells_found > 0);
    });
  });
}

std::vector<std::pair<std::string, std::string>> paper_table_names(const std::vector<PublishedFigure>& published) {
  std::vector<std::pair<std::string, std::string>> names;
  std::set<std::string> seen;
  for (const PublishedFigure& figure : published) {
    if (!seen.insert(figure.table).second) {
      continue;
    }
    std::string title = detail::layout_of(figure.table).title;
    // Families of tables differ in dataset and shift.
    if (figure.table.starts_with("main_appe_") || figure.table.starts_with("pyx_few_") ||
        figure.table.starts_with("stoc_")) {
      title = fmt::format("{}: {}", figure.dataset, title);
    }
    if (figure.table.starts_with("main_appe_") || figure.table.starts_with("n_client_") ||
        figure.table.starts_with("cola_") || figure.table.starts_with("dft_")) {
      title = fmt::format("{}: {}", figure.shift, title);
    }
    names.emplace_back(figure.table, title);
  }
  return names;
}

PaperTable make_paper_table(const std::string& name, const std::vector<PublishedFigure>& published, const RunSet& set,
                            const std::vector<OurResult>& results) {
  PaperTable table{name, "", {}, {}, {}};
  std::vector<std::string> known;
  for (const auto& [other, title] : paper_table_names(published)) {
    known.push_back(other);
    table.title = other == name ? title : table.title;
  }
  const std::string near = nearest_name(name, known);
  require(std::find(known.begin(), known.end(), name) != known.end(), ErrorCode::invalid_config,
          "--table {}: the paper has no such table{}; feroma report --list-tables names them", name,
          near.empty() ? "" : fmt::format(", did you mean {}?", near));
  const PaperLayout layout = detail::layout_of(name);
  const Grid grid = grid_of(name, layout, published);
  table.columns = grid.columns;
  Filler filler(set, results, published);
  switch (layout.kind) {
    case PaperLayout::Kind::cells: fill_cells(grid, filler, table); break;
    case PaperLayout::Kind::requirement: fill_requirement(grid, filler, set, table); break;
    case PaperLayout::Kind::cost: detail::fill_cost_table(published, set, results, table); break;
  }
  detail::add_paper_notes(filler, *grid.figures.begin()->second, table);
  return table;
}

std::vector<OurResult> results_in_tables(const std::vector<std::string>& names,
                                         const std::vector<PublishedFigure>& published, const RunSet& set,
                                         const std::vector<OurResult>& results) {
  std::vector<bool> asked(results.size(), false);
  std::set<std::string> settings;
  for (const PublishedFigure& figure : published) {
    const bool wanted = std::find(names.begin(), names.end(), figure.table) != names.end();
    const PaperLayout::Kind kind = detail::layout_of(figure.table).kind;
    if (wanted && kind == PaperLayout::Kind::cost) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        asked[i] = asked[i] || detail::is_in_cost_table(set.runs[results[i].run], results[i]);
      }
    }
    if (!wanted || kind != PaperLayout::Kind::cells) {
      continue;
    }
    std::vector<PaperCell> cells = detail::cells_of(figure);
    for (PaperCell& cell : detail::cells_aside(figure)) {
      cells.push_back(std::move(cell));
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto asks = [&](const PaperCell& cell) {
        return cell.met_by(set.runs[results[i].run], results[i]) && !cell.is_variant(results[i]);
      };
      if (!asked[i] && std::any_of(cells.begin(), cells.end(), asks)) {
        asked[i] = true;
        settings.insert(results[i].setting);
      }
    }
  }
  std::vector<OurResult> kept;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (asked[i] || (results[i].altered.empty() && settings.contains(results[i].setting))) {
      kept.push_back(results[i]);
    }
  }
  return kept;
}

}  // namespace feroma
