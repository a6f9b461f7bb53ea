#include "report/result_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "feroma/report/statistics.h"

namespace feroma::detail {
namespace {

using Value = std::optional<double>;

/// From so many algorithms on, a table is a comparison: it shows ranks and what each algorithm costs.
constexpr std::size_t kComparison = 4;

struct ColumnRule {
  const char* title;
  const char* help;
  Better better;
  const char* format;
  std::function<Value(const ResultRecord&)> get;
  bool in_comparisons_only = false;
  bool explained = false;  ///< its help is printed below the table
  bool rare = false;       ///< left out where no algorithm has it
};

/// Where one model serves everybody it does not matter who is known.
Value known_value_of(const ResultRecord& result) {
  const bool says_nothing = result.accuracy_known && same_but_for_rounding(*result.accuracy_known, result.accuracy);
  return says_nothing ? std::nullopt : result.accuracy_known;
}

/// 1 + the number of better values; absent where there is none, or nothing to compare.
std::optional<std::size_t> rank_of(const ResultColumn& column, std::size_t row) {
  if (column.better == Better::neither || !column.values[row]) {
    return std::nullopt;
  }
  const double own = *column.values[row];
  return 1 +
         static_cast<std::size_t>(std::count_if(column.values.begin(), column.values.end(), [&](const Value& other) {
           return other && (column.better == Better::higher ? *other > own : *other < own);
         }));
}

const std::vector<ColumnRule>& rules() {
  static const std::vector<ColumnRule> kRules{
      {"accuracy", "Mean over test clients in percent, each served the way the method serves it.", Better::higher,
       "{:.2f}", [](const ResultRecord& r) -> Value { return r.accuracy; }},
      {"± clients", "Standard deviation of the accuracy between test clients.", Better::neither, "{:.2f}",
       [](const ResultRecord& r) -> Value { return r.accuracy_std_clients; }},
      {"worst 10 %", "Mean accuracy of the tenth of the clients that fares worst.", Better::higher, "{:.2f}",
       [](const ResultRecord& r) -> Value { return r.accuracy_worst10; }},
      {"known",
       "accuracy if test client k had the model of training client k; where data drift, or tests are on others' data, "
       "that client has trained on something else, and known may lie below accuracy; - where one model serves "
       "everybody",
       Better::higher, "{:.2f}", known_value_of, false, true},
      {"few labels", "accuracy if a few labelled samples of each class may be used to choose the model", Better::higher,
       "{:.2f}", [](const ResultRecord& r) { return r.accuracy_few_label; }, false, true},
      {"nearest", "accuracy with the one model whose client's profile, or data, is nearest to the test client's",
       Better::higher, "{:.2f}", [](const ResultRecord& r) { return r.accuracy_nearest; }, false, true},
      {"best round",
       "accuracy with what there was after the round with the least validation loss, instead of the last round",
       Better::higher, "{:.2f}", [](const ResultRecord& r) { return r.accuracy_best_round; }, false, true},
      {"match",
       "share of test clients whose model came, for its largest part, from data of the test client's own distribution",
       Better::higher, "{:.0f} %",
       [](const ResultRecord& r) -> Value { return r.match_rate ? Value(100.0 * *r.match_rate) : Value(); }, false,
       true},
      {"detection",
       "area under the curve of telling test samples of distributions that nobody trained on from the others, without "
       "labels; 0.5 is a guess",
       Better::higher, "{:.3f}", [](const ResultRecord& r) { return r.detection_auroc; }, false, true, true},
      {"expectation", "Accuracy with all clusters' predictions, weighted by the clients in them.", Better::higher,
       "{:.2f}", [](const ResultRecord& r) { return r.accuracy_expectation; }, true},
      {"personal", "Accuracy with the mean prediction of all clients' personal models.", Better::higher, "{:.2f}",
       [](const ResultRecord& r) { return r.accuracy_personal; }, true},
      {"seconds", "Time of the whole run of this algorithm.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) -> Value { return r.seconds_total; }},
      {"kB up", "Kilobytes a client sends in a round.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) -> Value { return r.bytes_up_per_client_round / 1000; }, true},
      {"kB down", "Kilobytes a client receives in a round.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) -> Value { return r.bytes_down_per_client_round / 1000; }, true},
      {"forward", "Forward passes over a client's training samples in a round.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) -> Value { return r.forward_passes_per_client_round; }, true},
      {"backward", "Backward passes over a client's training samples in a round.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) -> Value { return r.backward_passes_per_client_round; }, true},
      {"test forward", "Forward passes over a test client's samples until it has its predictions.", Better::lower,
       "{:.1f}", [](const ResultRecord& r) { return r.test_forward_passes; }, true},
      {"test backward", "Backward passes over a test client's samples: adaptation to them.", Better::lower, "{:.1f}",
       [](const ResultRecord& r) { return r.test_backward_passes; }, true},
  };
  return kRules;
}

}  // namespace

std::optional<double> ResultColumn::best() const {
  std::vector<double> present;
  for (const Value& value : values) {
    if (value) {
      present.push_back(*value);
    }
  }
  if (better == Better::neither || present.size() < 2) {
    return std::nullopt;
  }
  const auto [least, most] = std::minmax_element(present.begin(), present.end());
  if (*least == *most) {
    return std::nullopt;
  }
  return better == Better::higher ? *most : *least;
}

std::vector<std::string> explanations_of(std::span<const ResultColumn> columns) {
  std::vector<std::string> lines;
  for (const ResultColumn& column : columns) {
    if (column.explained &&
        std::any_of(column.values.begin(), column.values.end(), [](const Value& value) { return value.has_value(); })) {
      lines.push_back(fmt::format("{}: {}", column.title, column.help));
    }
  }
  return lines;
}

std::vector<ResultColumn> result_columns(std::span<const ResultRecord> results) {
  std::vector<ResultColumn> columns;
  const bool comparison = results.size() >= kComparison;
  for (const ColumnRule& rule : rules()) {
    if (rule.in_comparisons_only && !comparison) {
      continue;
    }
    ResultColumn column{rule.title, rule.help, rule.better, {}, {}, rule.explained};
    for (const ResultRecord& result : results) {
      Value value = rule.get(result);
      if (value && !std::isfinite(*value)) {
        value.reset();
      }
      const char* const none = result.not_applicable ? "N/A" : result.failed ? "failed" : "-";
      column.texts.push_back(value ? fmt::format(fmt::runtime(rule.format), *value) : none);
      column.values.push_back(value);
    }
    const auto is_there = [](const Value& value) { return value.has_value(); };
    if (rule.rare && std::none_of(column.values.begin(), column.values.end(), is_there)) {
      continue;
    }
    if (comparison) {
      for (std::size_t i = 0; i < results.size(); ++i) {
        if (const auto rank = rank_of(column, i)) {
          column.texts[i] += fmt::format(" #{}", *rank);
        }
      }
    }
    columns.push_back(std::move(column));
  }
  if (!results.empty() && results.front().metric != "accuracy") {
    columns.front().title = results.front().metric;  // multi-label data: AUROC stands in these fields
  }
  return columns;
}

}  // namespace feroma::detail
