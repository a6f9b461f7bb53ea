#include "dashboard/answers.h"

#include <algorithm>
#include <cmath>

#include "dashboard/json.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "feroma/core/number.h"
#include "report/record_json.h"

namespace feroma::dashboard {
namespace {

/// Ranges of rounds that are listed; of more, the last ones.
constexpr std::size_t kListedRanges = 1000;
constexpr std::size_t kEpsilonBins = 10;
/// Under a budget a spread of fewer clients' accuracies would tell too much of each.
constexpr std::size_t kFewestInASpread = 10;

Json number_or_null(const std::optional<double>& value) { return value ? number(*value) : Json(nullptr); }

std::string setting(const Sight& sight, const std::string& key) {
  const auto found = sight.run.config.find(key);
  return found == sight.run.config.end() ? "" : found->second;
}

Json number_setting(const Sight& sight, const std::string& key) {
  const std::string text = setting(sight, key);
  const auto value = parse_number<double>(text);
  return value ? number(*value) : Json(nullptr);
}

bool is_guarded(const Sight& sight) {
  const std::string mode = setting(sight, "privacy.mode");
  return mode != "off" && mode != "paper";  // where nothing is known, as if
}

/// A server under a budget is told no accuracies; files of earlier versions have zeros there, which mean nothing.
bool tells_accuracy(const Sight& sight) { return !(sight.federation && is_guarded(sight)); }

Json point_json(const Sight& sight, const RoundPoint& point) {
  const RoundRecord& r = point.record;
  const bool told = tells_accuracy(sight);
  const auto if_told = [&](double value) { return told ? number(value) : Json(nullptr); };
  return {{"round", r.round},
          {"loss", if_told(r.loss)},
          {"accuracy_before", if_told(r.accuracy_before)},
          {"accuracy_after", if_told(r.accuracy_after)},
          {"test_accuracy", number_or_null(r.test_accuracy)},
          // Nobody validates on a server.
          {"validation_accuracy", sight.federation ? Json(nullptr) : number(r.validation_accuracy)},
          {"global_share", number_or_null(r.global_share)},
          {"clustered_share", number_or_null(r.clustered_share)},
          {"personal_share", number_or_null(r.personal_share)},
          {"seconds", number(r.seconds)},
          {"bytes_up", r.bytes_up},
          {"bytes_down", r.bytes_down},
          {"epsilon", number_or_null(r.epsilon)},
          {"dropped", point.dropped},
          {"alarms", point.alarms}};
}

/// The rounds that have places: first and last of those that follow one another.
Json rounds_json(const std::vector<Place>& places) {
  std::vector<std::pair<int, int>> ranges;  // the last one first
  for (auto place = places.rbegin(); place != places.rend(); ++place) {
    if (!ranges.empty() && (place->round == ranges.back().first || place->round == ranges.back().first - 1)) {
      ranges.back().first = place->round;
    } else if (ranges.size() < kListedRanges) {
      ranges.emplace_back(place->round, place->round);
    } else {
      break;
    }
  }
  Json rounds = Json::array();
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    rounds.push_back(Json::array({range->first, range->second}));
  }
  return rounds;
}

/// How many clients have spent which share of their budget.
Json epsilon_json(const Sight& sight, const AlgorithmState& run) {
  const Json total = number_setting(sight, "privacy.epsilon_total");
  std::vector<std::size_t> bins(kEpsilonBins);
  std::size_t known = 0;
  double most = 0;
  for (const auto& [id, client] : run.clients) {
    if (!std::isfinite(client.epsilon) || !total.is_number() || total.get<double>() <= 0) {
      continue;
    }
    known += 1;
    most = std::max(most, client.epsilon);
    const double share = client.epsilon / total.get<double>();
    bins[std::min(kEpsilonBins - 1, static_cast<std::size_t>(std::max(0.0, share) * kEpsilonBins))] += 1;
  }
  return known == 0 ? Json(nullptr) : Json{{"known", known}, {"most", most}, {"bins", bins}};
}

/// What a round counts for: its test accuracy, and only where no round has one how accurate clients were with what they
/// were given.
std::pair<bool, double> headline_of(const RoundPoint& point) {
  return {point.record.test_accuracy.has_value(), point.record.test_accuracy.value_or(point.record.accuracy_before)};
}

Json algorithm_json(const Sight& sight, const AlgorithmState& run) {
  const RoundPoint* best = nullptr;
  const RoundPoint* tested = nullptr;
  for (const RoundPoint& point : run.rounds) {
    tested = point.record.test_accuracy ? &point : tested;
    const bool known = headline_of(point).first || std::isfinite(headline_of(point).second);
    best = known && (best == nullptr || headline_of(point) > headline_of(*best)) ? &point : best;
  }
  std::map<std::string, std::size_t> strategies;
  std::size_t alarms = 0;
  std::int64_t all_alarms = 0;
  std::int64_t drops = 0;
  for (const auto& [id, client] : run.clients) {
    strategies[client.strategy.empty() ? "none" : client.strategy] += 1;
    alarms += client.alarmed() ? 1U : 0U;
    all_alarms += client.alarms;
    drops += client.drops;
  }
  return {{"label", run.label},
          {"rounds", run.last_round},
          {"seconds", run.seconds},
          {"seconds_per_round", run.recent},
          {"last", run.rounds.empty() ? Json(nullptr) : point_json(sight, run.rounds.back())},
          {"tested", tested == nullptr ? Json(nullptr) : point_json(sight, *tested)},
          {"best", best == nullptr || !tells_accuracy(sight) ? Json(nullptr) : point_json(sight, *best)},
          {"clients", run.clients.size()},
          {"more_clients", run.has_more_clients},
          {"strategies", strategies},
          {"alarms", alarms},
          {"alarms_so_far", all_alarms},
          {"drift_known", run.rounds.empty() ? 0 : run.rounds.back().drift_known},
          {"drops", drops},
          {"bytes_up", run.bytes_up},
          {"bytes_down", run.bytes_down},
          {"client_rows", run.client_rows},
          {"mixing", rounds_json(run.mixing)},
          {"profiles", rounds_json(run.profiles.empty() ? run.mixing : run.profiles)},
          {"epsilon", epsilon_json(sight, run)},
          {"result", run.result ? detail::json_of(*run.result) : Json(nullptr)}};
}

int planned_algorithms(const Sight& sight) {
  int count = 0;
  while (sight.run.config.contains(fmt::format("algorithm.{}.name", count))) {
    count += 1;
  }
  return count;
}

}  // namespace

int number_in(const Query& query, const std::string& key, int first, int last, int otherwise) {
  const auto found = query.find(key);
  if (found == query.end()) {
    return otherwise;
  }
  const auto value = parse_number<int>(found->second);
  if (!value || *value < first || *value > last) {
    throw BadRequest(fmt::format("{} must be a whole number in {}..{}", key, first, last));
  }
  return *value;
}

const AlgorithmState& algorithm_of(const Sight& sight, const Query& query) {
  const auto named = query.find("algorithm");
  const AlgorithmState* run = nullptr;
  if (named != query.end()) {
    run = sight.run.find(named->second);
  } else if (!sight.run.algorithms.empty()) {
    run = &sight.run.algorithms.front();
  }
  if (run == nullptr) {
    throw BadRequest(named == query.end() ? "no algorithm has begun yet" : "there is no such algorithm");
  }
  return *run;
}

bool tells_counts(const Sight& sight) { return !is_guarded(sight); }

std::string run_answer(const Sight& sight) {
  std::filesystem::path folder = std::filesystem::absolute(sight.folder).lexically_normal();
  const std::string name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  Json algorithms = Json::array();
  for (const AlgorithmState& run : sight.run.algorithms) {
    algorithms.push_back(algorithm_json(sight, run));
  }
  std::uint64_t refusals = 0;
  for (const auto& [client, times] : sight.live.refusals) {
    refusals += times;
  }
  const bool begun = sight.read > 0;
  const Json health = Json::parse(sight.live.health, nullptr, /*allow_exceptions=*/false);
  return text_of({{"api", 1},
                  {"version", build_info().version},
                  {"name", name},
                  {"id", fmt::format("{}-{}", sight.epoch, sight.version)},
                  {"epoch", sight.epoch},
                  {"state", !begun               ? "waiting"
                            : sight.run.finished ? "finished"
                            : sight.stopped      ? "stopped"
                                                 : "running"},
                  {"federation", sight.federation},
                  {"read_bytes", sight.read},
                  {"size_bytes", sight.size},
                  {"resumed", sight.run.resumed},
                  {"config", sight.run.config},
                  {"planned",
                   {{"rounds", number_setting(sight, "scenario.rounds")},
                    {"clients", number_setting(sight, "scenario.clients")},
                    {"algorithms", planned_algorithms(sight)}}},
                  {"privacy",
                   {{"mode", setting(sight, "privacy.mode")},
                    {"guarded", is_guarded(sight)},
                    {"counts_told", tells_counts(sight)},
                    {"accuracy_told", tells_accuracy(sight)},
                    {"epsilon_total", number_setting(sight, "privacy.epsilon_total")},
                    {"delta_total", number_setting(sight, "privacy.delta_total")},
                    {"noise", setting(sight, "privacy.noise")}}},
                  {"algorithms", algorithms},
                  {"refusals", sight.live_time > 0 ? Json(refusals) : Json(nullptr)},
                  {"damage", {{"count", sight.run.damage.count}, {"first", sight.run.damage.first}}},
                  {"server", sight.live_time > 0 && health.is_object() ? health : Json(nullptr)}});
}

std::string history_answer(const Sight& sight, const Query& query) {
  const AlgorithmState& run = algorithm_of(sight, query);
  const auto points = static_cast<std::size_t>(number_in(query, "points", 2, 2000, 400));
  Json columns = Json::object();
  const std::size_t count = std::min(points, run.rounds.size());
  auto spread = run.spreads.begin();
  for (std::size_t i = 0; i < count; ++i) {
    // Evenly spaced, the first and the last one included.
    const std::size_t at = count == 1 ? 0 : i * (run.rounds.size() - 1) / (count - 1);
    const RoundPoint& point = run.rounds[at];
    const Json row = point_json(sight, point);
    for (const auto& [key, value] : row.items()) {
      columns[key].push_back(value);
    }
    while (spread != run.spreads.end() && spread->round < point.record.round) {
      ++spread;
    }
    const bool known = spread != run.spreads.end() && spread->round == point.record.round && tells_accuracy(sight) &&
                       (tells_counts(sight) || spread->clients >= kFewestInASpread);
    columns["low"].push_back(known ? number(spread->low) : Json(nullptr));
    columns["middle"].push_back(known ? number(spread->middle) : Json(nullptr));
    columns["high"].push_back(known ? number(spread->high) : Json(nullptr));
    columns["clients"].push_back(known ? Json(spread->clients) : Json(nullptr));
  }
  return text_of({{"algorithm", run.label},
                  {"of", run.last_round},
                  {"thinned", count < run.rounds.size() || run.stride > 1},
                  {"columns", columns}});
}

}  // namespace feroma::dashboard
