#include "feroma/report/groups.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <tuple>

#include "feroma/core/config_identity.h"
#include "feroma/core/number.h"
#include "report/file_stem.h"

namespace feroma {
namespace {

using Value = std::optional<double>;

constexpr double kKilo = 1000;

constexpr std::size_t kAccuracy = 0;  ///< the first column

struct ColumnRule {
  GroupColumn column;
  std::function<Value(const ResultRecord&)> get;
};

const std::vector<ColumnRule>& rules() {
  static const std::vector<ColumnRule> kRules{
      {{"accuracy", "accuracy %", true, 2}, [](const ResultRecord& r) -> Value { return r.accuracy; }},
      {{"accuracy_worst10", "worst 10 % of clients", true, 2},
       [](const ResultRecord& r) -> Value { return r.accuracy_worst10; }},
      {{"accuracy_known", "known %", true, 2}, [](const ResultRecord& r) { return r.accuracy_known; }},
      {{"accuracy_few_label", "few labels %", true, 2}, [](const ResultRecord& r) { return r.accuracy_few_label; }},
      {{"seconds_total", "seconds", false, 1}, [](const ResultRecord& r) -> Value { return r.seconds_total; }},
      {{"bytes_up_per_client_round", "kB up", false, 1, kKilo},
       [](const ResultRecord& r) -> Value { return r.bytes_up_per_client_round; }},
      {{"bytes_down_per_client_round", "kB down", false, 1, kKilo},
       [](const ResultRecord& r) -> Value { return r.bytes_down_per_client_round; }},
      {{"epsilon", "epsilon", false, 2}, [](const ResultRecord& r) { return r.epsilon; }},
  };
  return kRules;
}

/// What people call a setting by; everything else is named only where groups differ in it.
constexpr std::array<std::string_view, 7> kFacts{"dataset", "shift",   "level",    "drifts",
                                                 "rounds",  "clients", "generator"};

/// By what groups are sorted first; the other facts follow.
constexpr std::array<std::string_view, 5> kOrder{"dataset", "shift", "level", "drifts", "clients"};
constexpr std::array<std::string_view, 3> kLevels{"low", "medium", "high"};

/// Longer names are cut: files have the name of a figure and of an algorithm behind it.
constexpr std::size_t kLongestName = 80;

GroupRow row_of(const std::string& label, const std::vector<const OurResult*>& results, const RunSet& set) {
  GroupRow row;
  row.label = label;
  row.seeds = results.size();
  row.not_applicable = results.front()->result.not_applicable;
  const auto has_failed = [](const OurResult* result) { return result->result.failed.has_value(); };
  if (const auto first = std::find_if(results.begin(), results.end(), has_failed); first != results.end()) {
    row.failed = fmt::format("{} of {} failed: {}", std::count_if(first, results.end(), has_failed), results.size(),
                             *(*first)->result.failed);
  }
  std::vector<double> comparable;
  for (const OurResult* result : results) {
    const double value = comparable_accuracy(set.runs[result->run], result->result);
    if (std::isfinite(value)) {
      comparable.push_back(value);
    }
  }
  if (const std::optional<MeanDeviation> mean = mean_and_deviation(comparable)) {
    row.comparable = mean->mean;
  }
  for (const ColumnRule& rule : rules()) {
    std::vector<double> values;
    for (const OurResult* result : results) {
      const Value value = rule.get(result->result);
      if (value && std::isfinite(*value)) {
        values.push_back(*value / rule.column.unit);
      }
    }
    row.values.push_back(mean_and_deviation(values));
  }
  return row;
}

void rank(std::vector<GroupRow>& rows) {
  const auto mean = [](const GroupRow& row) { return row.comparable.value_or(-1e300); };
  std::stable_sort(rows.begin(), rows.end(), [&](const GroupRow& a, const GroupRow& b) { return mean(a) > mean(b); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].comparable) {
      const bool tied = i > 0 && rows[i - 1].rank && same_but_for_rounding(mean(rows[i - 1]), mean(rows[i]));
      rows[i].rank = tied ? *rows[i - 1].rank : i + 1;
    }
  }
}

std::map<std::string, SettingValue> settings_of(const Settings& config) {
  std::map<std::string, SettingValue> settings;
  for (const auto& [key, setting] : config) {
    if (!key.starts_with("algorithm.") && key != "scenario.seed" && !config_identity().only_observes(key)) {
      settings[key] = setting.value;
    }
  }
  return settings;
}

/// Keys beyond the usual ones in which at least two groups differ.
std::set<std::string> telling_keys(const std::vector<ResultGroup>& groups) {
  std::set<std::string> keys;
  for (const ResultGroup& group : groups) {
    for (const auto& [key, value] : group.settings) {
      const auto other = groups.front().settings.find(key);
      if (other == groups.front().settings.end() || other->second != value) {
        keys.insert(key);
      }
    }
  }
  // Where it ran says nothing, and how many are tested mostly follows the number of clients.
  for (const char* quiet : {"scenario.data_dir", "training.simd", "scenario.test_clients"}) {
    keys.erase(quiet);
  }
  for (const std::string_view fact : kFacts) {
    keys.erase("scenario." + std::string(fact));
  }
  return keys;
}

bool is_bare(const std::string& key) { return key == "dataset" || key == "shift" || key == "level"; }

void add_facts(std::vector<ResultGroup>& groups) {
  const std::set<std::string> more = telling_keys(groups);
  for (ResultGroup& group : groups) {
    for (const std::string_view fact : kFacts) {
      const auto found = group.settings.find("scenario." + std::string(fact));
      if (found != group.settings.end()) {
        group.facts.emplace_back(fact, plain_text(found->second));
      }
    }
    const auto mode = group.settings.find("privacy.mode");
    const bool open = mode == group.settings.end() || plain_text(mode->second) == "off";
    for (const std::string& key : more) {
      const auto found = group.settings.find(key);
      const bool idle = open && key.starts_with("privacy.");  // a budget that nobody spends tells nothing
      if (found != group.settings.end() && !idle) {
        group.facts.emplace_back(key, plain_text(found->second));
      }
    }
    for (const auto& [key, value] : group.facts) {
      group.title += group.title.empty() ? "" : ", ";
      group.title += is_bare(key) ? value : fmt::format("{} {}", key, value);
    }
  }
}

/// The facts that not all groups share.
std::set<std::pair<std::string, std::string>> telling_facts(const std::vector<ResultGroup>& groups) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const ResultGroup& group : groups) {
    for (const auto& fact : group.facts) {
      counts[fact] += 1;
    }
  }
  std::set<std::pair<std::string, std::string>> telling;
  for (const auto& [fact, count] : counts) {
    if (count < groups.size()) {
      telling.insert(fact);
    }
  }
  return telling;
}

/// Names that can be part of a file's, each its own.
void name_groups(std::vector<ResultGroup>& groups) {
  const std::set<std::pair<std::string, std::string>> telling = telling_facts(groups);
  std::set<std::string> seen;
  for (ResultGroup& group : groups) {
    std::string text;
    for (const auto& [key, value] : group.facts) {
      if (is_bare(key)) {
        text += value + " ";
      } else if (telling.contains({key, value})) {
        text += fmt::format("{} {} ", key.substr(key.rfind('.') + 1), value);
      }
    }
    const std::string base = detail::file_stem(std::string_view(text).substr(0, kLongestName));
    group.name = base;
    for (int i = 2; !seen.insert(group.name).second; ++i) {
      group.name = fmt::format("{}-{}", base, i);
    }
  }
}

/// Key, number and word of a fact: levels by what they mean, 5 before 10.
using FactPlace = std::tuple<std::string, double, std::string>;

FactPlace place_of(const std::string& key, const std::string& value) {
  const auto level = std::find(kLevels.begin(), kLevels.end(), value);
  if (key == "level" && level != kLevels.end()) {
    return {key, static_cast<double>(level - kLevels.begin()), ""};
  }
  const auto number = parse_number<double>(value);
  return {key, number.value_or(0), number ? "" : value};
}

std::vector<FactPlace> sort_key(const ResultGroup& group) {
  std::vector<FactPlace> places(kOrder.size());
  for (const auto& [key, value] : group.facts) {
    const auto order = std::find(kOrder.begin(), kOrder.end(), key);
    if (order != kOrder.end()) {
      places[static_cast<std::size_t>(order - kOrder.begin())] = place_of(key, value);
    } else {
      places.push_back(place_of(key, value));
    }
  }
  return places;
}

}  // namespace

const std::optional<MeanDeviation>& GroupRow::shown(std::size_t column) const {
  static const std::optional<MeanDeviation> kNothing;
  const auto& accuracy = values[kAccuracy];
  const bool says_nothing = group_columns()[column].name == "accuracy_known" && accuracy && values[column] &&
                            same_but_for_rounding(values[column]->mean, accuracy->mean);
  return says_nothing ? kNothing : values[column];
}

std::vector<std::size_t> ResultGroup::shown_columns() const {
  std::vector<std::size_t> shown;
  for (std::size_t c = 0; c < group_columns().size(); ++c) {
    const bool any = std::any_of(rows.begin(), rows.end(), [c](const GroupRow& row) {
      return row.shown(c).has_value() || (c == kAccuracy && (row.not_applicable || row.failed));
    });
    if (any) {
      shown.push_back(c);
    }
  }
  return shown;
}

const std::vector<GroupColumn>& group_columns() {
  static const std::vector<GroupColumn> kColumns = [] {
    std::vector<GroupColumn> columns;
    for (const ColumnRule& rule : rules()) {
      columns.push_back(rule.column);
    }
    return columns;
  }();
  return kColumns;
}

MeanDeviation in_own_unit(const GroupColumn& column, const MeanDeviation& shown) {
  MeanDeviation value = shown;
  value.mean *= column.unit;
  if (value.deviation) {
    *value.deviation *= column.unit;
  }
  return value;
}

std::vector<ResultGroup> group_results(const RunSet& set, const std::vector<OurResult>& results) {
  std::vector<ResultGroup> groups;
  std::map<std::string, std::size_t> places;
  std::vector<std::map<std::string, std::vector<const OurResult*>>> rows;
  for (const OurResult& result : results) {
    const auto [found, is_new] = places.emplace(result.setting, groups.size());
    if (is_new) {
      groups.push_back({"", "", {}, settings_of(set.runs[result.run].config), result.setting, {}});
      rows.emplace_back();
    }
    rows[found->second][result.label].push_back(&result);
  }
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const auto& [label, same] : rows[g]) {
      groups[g].rows.push_back(row_of(label, same, set));
    }
    rank(groups[g].rows);
  }
  if (groups.empty()) {
    return groups;
  }
  add_facts(groups);
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ResultGroup& a, const ResultGroup& b) { return sort_key(a) < sort_key(b); });
  name_groups(groups);
  return groups;
}

}  // namespace feroma
