// The events of a run as RunState keeps them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "dashboard/json.h"
#include "dashboard/run_state.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/report/schema.h"
#include "report/record_json.h"

namespace feroma::dashboard {
namespace {

/// A config that is longer than this was not written by us.
constexpr std::size_t kMostSettings = 2000;
/// A round's time is taken from about so many rounds.
constexpr double kRecentRounds = 5;
constexpr std::size_t kLongestReason = 200;
/// Values are nested no deeper in our events; the library writes them by recursion.
constexpr int kDeepest = 16;
/// Rounds that are kept lie no further apart than this.
constexpr int kLongestStride = 1 << 20;

/// Whether brackets are nested no deeper than kDeepest.
bool is_shallow(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) {
        return false;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

/// A count that is added to a sum; what is no count is left out.
void add_count(std::int64_t& sum, std::int64_t count) {
  if (count > 0 && count <= std::numeric_limits<std::int64_t>::max() - sum) {
    sum += count;
  }
}

void add_count(std::int64_t& sum, const Json& column, std::size_t i) {
  if (!column.empty() && column[i].is_number_integer()) {
    add_count(sum, column[i].get<std::int64_t>());
  }
}

/// A key of an event with the type it must have.
const Json& member(const Json& event, const char* key, bool (Json::*is)() const noexcept, const std::string& where) {
  const auto found = event.find(key);
  require(found != event.end() && ((*found).*is)(), ErrorCode::invalid_data, "{}: {} is missing or of another type",
          where, key);
  return *found;
}

double number_or_unknown(const Json& json) { return json.is_number() ? json.get<double>() : kUnknown; }

std::uint32_t id_of(const Json& json, const std::string& where) {
  require(json.is_number_unsigned() && json.get<std::uint64_t>() <= 0xffffffffU, ErrorCode::invalid_data,
          "{}: must be a client's id, got {}", where, json.dump());
  return json.get<std::uint32_t>();
}

}  // namespace

/// Takes one event apart.
class EventReader {
 public:
  EventReader(RunState& state, const Json& event, std::string_view text, const std::string& where, std::uint64_t offset)
      : state_(state), event_(event), size_(text.size()), where_(where), offset_(offset) {}

  void read() {
    const auto& name = member(event_, "event", &Json::is_string, where_).get_ref<const std::string&>();
    if (name == "run_started") {
      started();
    } else if (name == "run_resumed") {
      state_.resumed += 1;
      state_.finished = false;
    } else if (name == "round_finished") {
      round_finished();
    } else if (name == "client_dropped") {
      dropped();
    } else if (name == "clients") {
      clients();
    } else if (name == "mixing") {
      remember(owner().mixing);
    } else if (name == "profiles") {
      remember(owner().profiles);
    } else if (name == "algorithm_finished") {
      ResultRecord result = detail::result_of(event_, where_);
      state_.algorithm(result.label).result = std::move(result);
    } else if (name == "run_finished") {
      state_.finished = true;
    }
  }

 private:
  AlgorithmState& owner() {
    const auto& label = member(event_, "algorithm", &Json::is_string, where_).get_ref<const std::string&>();
    require(is_file_name(label), ErrorCode::invalid_data, "{}: algorithm must be usable as a file name", where_);
    return state_.algorithm(label);
  }

  void remember(std::vector<Place>& places) {
    places.push_back({detail::round_number(event_, where_), offset_, size_});
  }

  void started() {
    try {
      detail::check_schema(event_, kEventsSchema, where_);
    } catch (const Error&) {
      state_.refused = true;  // what follows may mean something else
      throw;
    }
    const Json& config = member(event_, "config", &Json::is_object, where_);
    require(config.size() <= kMostSettings, ErrorCode::invalid_data, "{}: has more than {} settings", where_,
            kMostSettings);
    for (const auto& [key, value] : config.items()) {
      state_.config[key] = value.is_string() ? value.get<std::string>() : value.dump();
    }
  }

  void round_finished() {
    RoundRecord record = detail::round_of(event_, where_);
    AlgorithmState& run = owner();
    const auto missing = run.drops.find(record.round);
    const int drops = missing == run.drops.end() ? 0 : missing->second;
    run.drops.clear();
    run.last_round = record.round;
    run.seconds += record.seconds;
    run.recent += (record.seconds - run.recent) / (run.recent == 0 ? 1 : kRecentRounds);
    add_count(run.bytes_up, record.bytes_up);
    add_count(run.bytes_down, record.bytes_down);
    if (run.rounds.size() == kMostRounds) {
      run.stride = std::min(2 * run.stride, kLongestStride);
      std::size_t kept = 0;
      for (std::size_t i = 0; i < run.rounds.size(); i += 2) {
        run.rounds[kept++] = std::move(run.rounds[i]);
      }
      run.rounds.resize(kept);
    }
    // The last round is always there, whatever the stride.
    if (run.rounds.size() > 1 && (run.rounds.back().record.round - 1) % run.stride != 0) {
      run.rounds.pop_back();
    }
    run.rounds.push_back({std::move(record), drops, 0, 0});
  }

  void dropped() {
    AlgorithmState& run = owner();
    const int round = detail::round_number(event_, where_);
    run.drops[round] += 1;
    if (ClientState* client = state_.client(run, id_of(member(event_, "client", &Json::is_number, where_), where_))) {
      client->drops += 1;
      client->last_drop = round;
      client->reason = member(event_, "reason", &Json::is_string, where_).get<std::string>().substr(0, kLongestReason);
    }
  }

  void clients() {
    AlgorithmState& run = owner();
    const int round = detail::round_number(event_, where_);
    const Json& ids = member(event_, "client", &Json::is_array, where_);
    const Json none = Json::array();
    const auto column = [&](const char* key) -> const Json& {
      const auto found = event_.find(key);
      require(found == event_.end() || (found->is_array() && found->size() == ids.size()), ErrorCode::invalid_data,
              "{}: {} must have {} entries", where_, key, ids.size());
      return found == event_.end() ? none : *found;
    };
    const Json& up = column("bytes_up");
    const Json& down = column("bytes_down");
    const Json& moved = column("moved");
    const Json& epsilon = column("epsilon");
    const double time = event_.contains("time") ? number_or_unknown(event_["time"]) : kUnknown;
    int alarms = 0;
    int drift_known = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const double far = moved.empty() ? kUnknown : number_or_unknown(moved[i]);
      alarms += far > kAlarm ? 1 : 0;
      drift_known += std::isfinite(far) ? 1 : 0;
      if (ClientState* client = state_.client(run, id_of(ids[i], where_))) {
        client->last_round = std::max(client->last_round, round);
        client->last_time = time;
        add_count(client->bytes_up, up, i);
        add_count(client->bytes_down, down, i);
        client->moved = far;
        client->epsilon = epsilon.empty() ? client->epsilon : number_or_unknown(epsilon[i]);
        if (far > kAlarm) {
          client->alarms += 1;
          client->last_alarm = round;
        }
      }
    }
    if (!run.rounds.empty() && run.rounds.back().record.round == round) {
      run.rounds.back().alarms = alarms;
      run.rounds.back().drift_known = drift_known;
    }
    remember(run.client_columns);
  }

  RunState& state_;
  const Json& event_;
  std::size_t size_;
  const std::string& where_;
  std::uint64_t offset_;
};

void RunState::take_event(std::string_view text, const std::string& where, std::uint64_t offset) {
  if (refused) {
    return;
  }
  try {
    require(is_shallow(text), ErrorCode::invalid_data, "{}: is nested deeper than {}", where, kDeepest);
    const Json event = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    require(event.is_object(), ErrorCode::invalid_data, "{}: is not an event", where);
    EventReader(*this, event, text, where, offset).read();
  } catch (const Error& error) {
    damage.add(error.what());
  }
}

}  // namespace feroma::dashboard
