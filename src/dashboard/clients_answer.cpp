#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "dashboard/answers.h"
#include "dashboard/json.h"

namespace feroma::dashboard {
namespace {

/// A client as it is sorted and shown.
struct Row {
  std::uint32_t client = 0;
  const ClientState* state = nullptr;
  std::optional<std::uint64_t> refused;  ///< how often; known to a server that is running
};

/// Whether a line of clients.csv told the client's count and distribution.
bool is_counted(const Row& row) { return row.state->rounds > 0; }

/// What rows may be sorted by. What is unknown sorts behind everything, whichever the order.
struct Column {
  const char* name;
  double (*value)(const Row& row);
};
constexpr std::array kColumns{
    Column{"client", [](const Row& r) { return static_cast<double>(r.client); }},
    Column{
        "strategy",
        [](const Row& r) { return r.state->strategy.empty() ? kUnknown : static_cast<double>(r.state->strategy[0]); }},
    Column{"moved", [](const Row& r) { return r.state->moved; }},
    Column{"alarms", [](const Row& r) { return static_cast<double>(r.state->alarms); }},
    Column{"last_round", [](const Row& r) { return static_cast<double>(r.state->last_round); }},
    Column{"rounds", [](const Row& r) { return static_cast<double>(r.state->rounds); }},
    Column{"bytes_up", [](const Row& r) { return static_cast<double>(r.state->bytes_up); }},
    Column{"bytes_down", [](const Row& r) { return static_cast<double>(r.state->bytes_down); }},
    Column{"drops", [](const Row& r) { return static_cast<double>(r.state->drops); }},
    Column{"refused", [](const Row& r) { return r.refused ? static_cast<double>(*r.refused) : kUnknown; }},
    Column{"epsilon", [](const Row& r) { return r.state->epsilon; }},
    // The rest only where privacy allows; sorting by them would tell them.
    Column{"distribution",
           [](const Row& r) { return is_counted(r) ? static_cast<double>(r.state->distribution) : kUnknown; }},
    Column{"num_examples",
           [](const Row& r) { return is_counted(r) ? static_cast<double>(r.state->num_examples) : kUnknown; }},
    Column{"loss", [](const Row& r) { return r.state->loss; }},
    Column{"accuracy_before", [](const Row& r) { return r.state->accuracy_before; }},
    Column{"accuracy_after", [](const Row& r) { return r.state->accuracy_after; }},
};
constexpr std::size_t kPublicColumns = 11;

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

bool (*filter_of(const std::string& name))(const Row&) {
  if (name == "all") {
    return [](const Row&) { return true; };
  }
  if (name == "alarm") {
    return [](const Row& row) { return row.state->alarmed(); };
  }
  if (name == "dropped") {
    return [](const Row& row) { return row.state->drops > 0 || row.refused.value_or(0) > 0; };
  }
  throw BadRequest("filter must be one of all, alarm, dropped");
}

/// Every client of an algorithm, and those that a running server knows beside them: who came or was refused, but stands
/// in no file yet, is shown as `newcomer`.
std::vector<Row> all_rows(const Sight& sight, const AlgorithmState& run, const ClientState& newcomer) {
  const auto& refusals = sight.live.refusals;
  std::vector<Row> rows;
  const auto add = [&](std::uint32_t client, const ClientState& state) {
    const auto found = refusals.find(client);
    const std::uint64_t times = found == refusals.end() ? std::uint64_t{0} : found->second;
    rows.push_back({client, &state, sight.live_time > 0 ? std::optional(times) : std::nullopt});
  };
  for (const auto& [client, state] : run.clients) {
    add(client, state);
  }
  if (run.has_more_clients) {
    return rows;  // a client without a row may be one of those
  }
  for (const auto& [client, seconds] : sight.live.heard) {
    if (!run.clients.contains(client)) {
      add(client, newcomer);
    }
  }
  for (const auto& [client, count] : refusals) {
    if (!run.clients.contains(client) && !sight.live.heard.contains(client)) {
      add(client, newcomer);
    }
  }
  return rows;
}

Json row_json(const Sight& sight, const Row& row, bool told) {
  const ClientState& c = *row.state;
  const auto heard = sight.live.heard.find(row.client);
  Json json{{"client", row.client},
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
            {"refused", row.refused ? Json(*row.refused) : Json(nullptr)},
            {"epsilon", number(c.epsilon)}};
  if (told) {
    // True distributions are known to simulations only.
    json["distribution"] = sight.federation || !is_counted(row) ? Json(nullptr) : Json(c.distribution);
    json["num_examples"] = is_counted(row) ? Json(c.num_examples) : Json(nullptr);
    json["loss"] = number(c.loss);
    json["accuracy_before"] = number(c.accuracy_before);
    json["accuracy_after"] = number(c.accuracy_after);
  }
  return json;
}

/// Sorts the first so many; what comes behind them is in any order.
void sort_first(std::vector<Row>& rows, std::size_t count, const Column& column, bool descending) {
  const auto before = [&](const Row& a, const Row& b) {
    const double x = column.value(a);
    const double y = column.value(b);
    if (std::isnan(x) != std::isnan(y)) {
      return std::isnan(y);
    }
    if (!std::isnan(x) && x != y) {
      return descending ? x > y : x < y;
    }
    return a.client < b.client;
  };
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count), rows.end(), before);
}

}  // namespace

std::string clients_answer(const Sight& sight, const Query& query) {
  // A server has clients before its method has finished a round.
  const AlgorithmState none{};
  const bool is_early =
      sight.run.algorithms.empty() && !query.contains("algorithm") && (sight.federation || sight.live_time > 0);
  const AlgorithmState& run = is_early ? none : algorithm_of(sight, query);
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

  const ClientState newcomer{};
  std::vector<Row> rows = all_rows(sight, run, newcomer);
  const std::size_t all = rows.size();
  std::erase_if(
      rows, [&](const Row& row) { return !wanted(row) || (id >= 0 && row.client != static_cast<std::uint32_t>(id)); });
  const std::size_t first = std::min(page * size, rows.size());
  const std::size_t last = std::min(first + size, rows.size());
  sort_first(rows, last, column, order == "descending");
  Json shown = Json::array();
  for (std::size_t i = first; i < last; ++i) {
    shown.push_back(row_json(sight, rows[i], told));
  }
  const Json answer{{"algorithm", is_early ? Json(nullptr) : Json(run.label)},
                    {"of", all},
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
