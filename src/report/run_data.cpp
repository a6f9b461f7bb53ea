#include "feroma/report/run_data.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/report/schema.h"
#include "report/client_line.h"
#include "report/csv.h"
#include "report/record_json.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;

struct Line {
  std::string_view text;
  std::string where;  ///< "events.jsonl:12"
};

/// The complete lines of a file that may still be growing.
std::vector<Line> complete_lines(std::string_view text, const std::string& name) {
  std::vector<Line> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    lines.push_back({text.substr(begin, end - begin), fmt::format("{}:{}", name, lines.size() + 1)});
    begin = end + 1;
  }
  return lines;
}

AlgorithmRun& algorithm_of(std::vector<AlgorithmRun>& algorithms, const std::string& label) {
  for (AlgorithmRun& algorithm : algorithms) {
    if (algorithm.label == label) {
      return algorithm;
    }
  }
  return algorithms.emplace_back(AlgorithmRun{label, {}, {}});
}

std::vector<std::uint32_t> ids_of(const Json& event, const char* key, const std::string& where) {
  std::vector<std::uint32_t> ids;
  require(event.contains(key) && event[key].is_array(), ErrorCode::invalid_data, "{}: {} must be a list", where, key);
  for (const Json& id : event[key]) {
    require(id.is_number_unsigned() && id.get<std::uint64_t>() <= 0xffffffffU, ErrorCode::invalid_data,
            "{}: {} must hold client ids, got {}", where, key, id.dump());
    ids.push_back(id.get<std::uint32_t>());
  }
  return ids;
}

/// The label and the round of an event about a file of both.
std::pair<std::string, int> place_of(const Json& event, const std::string& where) {
  require(event.contains("algorithm") && event["algorithm"].is_string() &&
              is_file_name(event["algorithm"].get<std::string>()),
          ErrorCode::invalid_data, "{}: {} must name an algorithm", where, event["event"].get<std::string>());
  return {event["algorithm"].get<std::string>(), detail::round_number(event, where)};
}

void add_mixing(const Json& event, const std::filesystem::path& folder, const std::string& where, RunData& run) {
  const auto [label, round] = place_of(event, where);
  algorithm_of(run.algorithms, label)
      .mixing.push_back({round, ids_of(event, "receivers", where), ids_of(event, "sources", where),
                         folder / "mixing" / fmt::format("{}-{}.npy", label, round)});
}

void add_profile_rows(const Json& event, const std::string& where, RunData& run) {
  const auto [label, round] = place_of(event, where);
  algorithm_of(run.algorithms, label).profile_rows[round] = ids_of(event, "receivers", where);
}

/// Whether they tell of the run's end.
bool read_events(const std::filesystem::path& folder, RunData& run) {
  bool ended = false;
  const std::string text = read_text(folder / "events.jsonl");
  for (const Line& line : complete_lines(text, (folder / "events.jsonl").string())) {
    const Json event = Json::parse(line.text, nullptr, /*allow_exceptions=*/false);
    require(event.is_object() && event.contains("event") && event["event"].is_string(), ErrorCode::invalid_data,
            "{}: is not an event", line.where);
    if (event["event"] == "round_finished") {
      RoundRecord record = detail::round_of(event, line.where);
      algorithm_of(run.algorithms, record.algorithm).rounds.push_back(std::move(record));
    } else if (event["event"] == "mixing") {
      add_mixing(event, folder, line.where, run);
    } else if (event["event"] == "profiles") {
      add_profile_rows(event, line.where, run);
    } else if (event["event"] == "run_started") {
      detail::check_schema(event, kEventsSchema, line.where);
    } else if (event["event"] == "run_finished") {
      ended = true;
    }
  }
  return ended;
}

/// Hangs every line of clients.csv under its round. Where a run is not finished, lines may be ahead of the events.
void read_clients(const std::filesystem::path& folder, RunData& run) {
  const std::string text = read_text(folder / "clients.csv");
  std::map<std::pair<std::string, int>, RoundRecord*> rounds;
  for (AlgorithmRun& algorithm : run.algorithms) {
    for (RoundRecord& round : algorithm.rounds) {
      rounds[{algorithm.label, round.round}] = &round;
    }
  }
  const std::vector<Line> lines = complete_lines(text, (folder / "clients.csv").string());
  require(!lines.empty(), ErrorCode::invalid_data, "{}: must begin with a line that names its columns",
          (folder / "clients.csv").string());
  const detail::ClientLines columns(lines.front().text, lines.front().where);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    detail::ClientLine line = columns.parse(lines[i].text, lines[i].where);
    const auto round = rounds.find({line.algorithm, line.round});
    require(round != rounds.end() || !run.summary, ErrorCode::invalid_data,
            "{}: round {} of {} must be one of events.jsonl, and is not", lines[i].where, line.round, line.algorithm);
    if (round != rounds.end()) {
      round->second->clients.push_back(std::move(line.client));
    }
  }
}

}  // namespace

const RoundRecord* AlgorithmRun::find(int round) const {
  const auto found =
      std::find_if(rounds.begin(), rounds.end(), [round](const RoundRecord& r) { return r.round == round; });
  return found == rounds.end() ? nullptr : &*found;
}

RunData load_run(const std::filesystem::path& folder) {
  RunData run;
  run.name = std::filesystem::absolute(folder).lexically_normal().filename().string();
  if (run.name.empty()) {  // "runs/demo/" ends in an empty name
    run.name = std::filesystem::absolute(folder).lexically_normal().parent_path().filename().string();
  }
  run.config_text = read_text(folder / "config.toml");
  run.config = parse_settings(run.config_text, (folder / "config.toml").string());
  if (std::filesystem::exists(folder / "summary.json")) {
    run.summary = read_summary(folder / "summary.json");
  }
  const bool ended = read_events(folder, run);
  require(ended || !run.summary, ErrorCode::invalid_data,
          "{}: must end with the run, as summary.json is there, and has no run_finished",
          (folder / "events.jsonl").string());
  read_clients(folder, run);
  for (AlgorithmRun& algorithm : run.algorithms) {
    algorithm.folder = folder;
  }
  return run;
}

std::vector<double> read_mixing(const MixingFile& mixing) {
  const NpyArray array = read_npy(mixing.file);
  const std::vector<std::int64_t> expected{static_cast<std::int64_t>(mixing.receivers.size()),
                                           static_cast<std::int64_t>(mixing.sources.size())};
  require(array.shape == expected, ErrorCode::invalid_data, "{}: must be {} receivers x {} sources", array.name,
          expected[0], expected[1]);
  std::vector<double> weights = array.to_doubles();
  const auto wrong = std::find_if_not(weights.begin(), weights.end(), is_mixing_weight);
  require(wrong == weights.end(), ErrorCode::invalid_data, "{}: must hold weights in 0..1, got {}", array.name, *wrong);
  return weights;
}

}  // namespace feroma
