#include <cmath>
#include <nlohmann/json.hpp>

#include "feroma/report/study.h"
#include "report/record_json.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;

Json number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Json(*value) : Json(nullptr);
}

/// Such as why a method has no meaning somewhere.
Json text_or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

Json table_json(const PaperTable& table) {
  Json columns = Json::array();
  for (const PaperColumn& column : table.columns) {
    columns.push_back(column.title);
  }
  Json rows = Json::array();
  for (const PaperRow& row : table.rows) {
    Json values = Json::array();
    for (const PaperValue& value : row.values) {
      values.push_back({{"mean", number(value.ours)},
                        {"std", number(value.ours_std)},
                        {"seeds", value.ours ? value.seeds : 0},
                        {"published_mean", number(value.published)},
                        {"published_std", number(value.published_std)},
                        {"published_printed", number(value.printed)},
                        {"difference", number(value.difference())},
                        {"not_applicable", text_or_null(value.not_applicable)},
                        {"cells_found", value.cells_found},
                        {"cells_needed", value.cells_needed}});
    }
    rows.push_back({{"row", row.name},
                    {"label", row.label.empty() ? Json(nullptr) : Json(row.label)},
                    {"values", std::move(values)}});
  }
  return {{"table", table.name},
          {"title", table.title},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"notes", table.notes}};
}

Json group_json(const ResultGroup& group) {
  Json settings = Json::object();
  for (const auto& [key, value] : group.settings) {
    settings[key] = detail::json_of(value);
  }
  Json rows = Json::array();
  for (const GroupRow& row : group.rows) {
    Json one{{"label", row.label},
             {"seeds", row.seeds},
             {"rank", row.rank ? Json(*row.rank) : Json(nullptr)},
             {"not_applicable", text_or_null(row.not_applicable)},
             {"failed", text_or_null(row.failed)}};
    for (std::size_t c = 0; c < row.values.size(); ++c) {
      const GroupColumn& column = group_columns()[c];
      if (!row.values[c]) {
        one[column.name] = nullptr;
        continue;
      }
      const MeanDeviation value = in_own_unit(column, *row.values[c]);
      one[column.name] = {{"mean", value.mean}, {"std", number(value.deviation)}, {"count", value.count}};
    }
    rows.push_back(std::move(one));
  }
  return {{"title", group.title}, {"settings", std::move(settings)}, {"results", std::move(rows)}};
}

Json test_json(const std::optional<PairedTest>& test) {
  return test ? Json{{"pairs", test->pairs}, {"statistic", test->statistic}, {"p", test->p}, {"exact", test->exact}}
              : Json(nullptr);
}

Json comparison_json(const Comparison& comparison) {
  Json ranks = Json::object();
  for (std::size_t i = 0; i < comparison.labels.size(); ++i) {
    ranks[comparison.labels[i]] = comparison.friedman.mean_ranks[i];
  }
  Json pairs = Json::array();
  for (const Comparison::Pair& pair : comparison.pairs) {
    pairs.push_back({{"label", pair.label},
                     {"n", pair.n},
                     {"mean_difference", pair.mean_difference},
                     {"wilcoxon", test_json(pair.wilcoxon)},
                     {"wilcoxon_p_holm", number(pair.adjusted)},
                     {"t", test_json(pair.t)}});
  }
  return {{"by_seed", comparison.by_seed},
          {"blocks", comparison.friedman.blocks},
          {"blocks_left_out", comparison.left_out},
          {"labels_left_out", comparison.labels_left_out},
          {"mean_ranks", std::move(ranks)},
          {"friedman", {{"chi_square", comparison.friedman.chi_square}, {"p", comparison.friedman.p}}},
          {"critical_difference", comparison.critical_difference},
          {"reference", comparison.reference},
          {"pairs", std::move(pairs)}};
}

}  // namespace

std::string study_json(const Study& study) {
  Json json{{"groups", Json::array()}, {"tables", Json::array()}};
  for (const ResultGroup& group : study.groups) {
    json["groups"].push_back(group_json(group));
  }
  for (const PaperTable& table : study.tables) {
    json["tables"].push_back(table_json(table));
  }
  json["comparison"] = study.comparison ? comparison_json(*study.comparison) : Json(nullptr);
  json["notes"] = study.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace feroma
