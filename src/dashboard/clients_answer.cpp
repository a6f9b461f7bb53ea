#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "dashboard/answers.h"
#include "dashboard/json.h"

namespace feroma::dashboard {
namespace {

using Row = std::pair<std::uint32_t, const ClientState*>;

/// What rows may be sorted by. What is unknown sorts behind everything, whichever the order.
struct Column {
  const char* name;
  double (*value)(const Row& row);
};
constexpr std::array kColumns{
    Column{"client", [](const Row& r) { return static_cast<double>(r.first); }},
    Column{"strategy",
           [](const Row& r) {
             return r.second->strategy.empty() ? kUnknown : static_cast<double>(r.second->strategy[0]);
           }},
    Column{"moved", [](const Row& r) { return r.second->moved; }},
    Column{"alarms", [](const Row& r) { return static_cast<double>(r.second->alarms); }},
    Column{"last_round", [](const Row& r) { return static_cast<double>(r.second->last_round); }},
    Column{"rounds", [](const Row& r) { return static_cast<double>(r.second->rounds); }},
    Column{"bytes_up", [](const Row& r) { return static_cast<double>(r.second->bytes_up); }},
    Column{"bytes_down", [](const Row& r) { return static_cast<double>(r.second->bytes_down); }},
    Column{"drops", [](const Row& r) { return static_cast<double>(r.second->drops); }},
    Column{"epsilon", [](const Row& r) { return r.second->epsilon; }},
    // The rest only where privacy allows; sorting by them would tell them.
    Column{"distribution", [](const Row& r) { return static_cast<double>(r.second->distribution); }},
    Column{"num_examples", [](const Row& r) { return static_cast<double>(r.second->num_examples); }},
    Column{"loss", [](const Row& r) { return r.second->loss; }},
    Column{"accuracy_before", [](const Row& r) { return r.second->accuracy_before; }},
    Column{"accuracy_after", [](const Row& r) { return r.second->accuracy_after; }},
};
constexpr std::size_t kPublicColumns = 10;

const Column& column_of(const std::string& name, bool told) {
  const std::size_t count = told ? kColumns.size() : kPublicColumns;
  const auto* end = kColumns.begin() + count;
  const auto* found = std::find_if(kColumns.begin(), end, [&](const Column& c) { return name == c.name; });
  if (found == end) {
    std::string names;
    for (const auto* column = kColumns.begin(); column != end; ++column) {
      names += names.empty() ? column->name : fmt::format(", {}", column->name);
    }
    throw BadRequest("sort must be one of " + names);
  }
  return *found;
}

std::string value_of(const Query& query, const std::string& key, const std::string& otherwise) {
  const auto found = query.find(key);
  return found == query.end() ? otherwise : found->second;
}

bool (*filter_of(const std::string& name))(const ClientState&) {
  if (name == "all") {
    return [](const ClientState&) { return true; };
  }
  if (name == "alarm") {
    return [](const ClientState& client) { return client.alarmed(); };
  }
  if (name == "dropped") {
    return [](const ClientState& client) { return client.drops > 0; };
  }
  throw BadRequest("filter must be one of all, alarm, dropped");
}

Json row_json(const Sight& sight, const Row& row, bool told) {
  const ClientState& c = *row.second;
  const auto heard = sight.live.heard.find(row.first);
  Json json{{"client", row.first},
            {"strategy", c.strategy.empty() ? Json(nullptr) : Json(c.strategy)},
            {"moved", number(c.moved)},
            {"alarm", c.alarmed()},
            {"alarms", c.alarms},
            {"last_alarm", c.last_alarm},
            {"rounds", c.rounds},
            {"last_round", c.last_round},
            {"last_time", number(c.last_time)},
            {"heard_seconds", heard == sight.live.heard.end() ? Json(nullptr) : number(heard->second)},
            {"bytes_up", c.bytes_up},
            {"bytes_down", c.bytes_down},
            {"drops", c.drops},
            {"last_drop", c.last_drop},
            {"reason", c.reason.empty() ? Json(nullptr) : Json(c.reason)},
            {"epsilon", number(c.epsilon)}};
  if (told) {
    // True distributions are known to simulations only.
    json["distribution"] = sight.federation ? Json(nullptr) : Json(c.distribution);
    json["num_examples"] = c.num_examples;
    json["loss"] = number(c.loss);
    json["accuracy_before"] = number(c.accuracy_before);
    json["accuracy_after"] = number(c.accuracy_after);
  }
  return json;
}

}  // namespace

std::string clients_answer(const Sight& sight, const Query& query) {
  const AlgorithmState& run = algorithm_of(sight, query);
  const bool told = tells_counts(sight);
  const Column& column = column_of(value_of(query, "sort", "client"), told);
  const std::string order = value_of(query, "order", "ascending");
  if (order != "ascending" && order != "descending") {
    throw BadRequest("order must be ascending or descending");
  }
  const auto wanted = filter_of(value_of(query, "filter", "all"));
  const int id = number_in(query, "id", 0, std::numeric_limits<int>::max(), -1);
  const auto page = static_cast<std::size_t>(number_in(query, "page", 0, 1'000'000, 0));
  const auto size = static_cast<std::size_t>(number_in(query, "size", 1, 200, 50));

  std::vector<Row> rows;
  for (const auto& [client, state] : run.clients) {
    if (wanted(state) && (id < 0 || client == static_cast<std::uint32_t>(id))) {
      rows.emplace_back(client, &state);
    }
  }
  const bool descending = order == "descending";
  const auto before = [&](const Row& a, const Row& b) {
    const double x = column.value(a);
    const double y = column.value(b);
    if (std::isnan(x) != std::isnan(y)) {
      return std::isnan(y);
    }
    if (!std::isnan(x) && x != y) {
      return descending ? x > y : x < y;
    }
    return a.first < b.first;
  };
  const std::size_t first = std::min(page * size, rows.size());
  const std::size_t last = std::min(first + size, rows.size());
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(last), rows.end(), before);
  Json shown = Json::array();
  for (std::size_t i = first; i < last; ++i) {
    shown.push_back(row_json(sight, rows[i], told));
  }
  const Json answer{{"algorithm", run.label},
                    {"of", run.clients.size()},
                    {"matching", rows.size()},
                    {"page", page},
                    {"size", size},
                    {"sort", column.name},
                    {"order", order},
                    {"counts_told", told},
                    {"alarm_above", kAlarm},
                    {"connected", sight.live.heard.size()},
                    {"rows", shown}};
  return text_of(answer);
}

}  // namespace feroma::dashboard
