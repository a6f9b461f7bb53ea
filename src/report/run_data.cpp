#include "feroma/report/run_data.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/core/number.h"
#include "feroma/report/schema.h"
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

void read_events(const std::filesystem::path& folder, RunData& run) {
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
    }
  }
}

template <class T>
T number_of(const std::string& text, const std::string& where) {
  const auto value = parse_number<T>(text);
  require(value.has_value(), ErrorCode::invalid_data, "{}: must be a number, got \"{}\"", where, text);
  return *value;
}

ClientRecord client_of(const std::vector<std::string>& fields, const std::string& where) {
  ClientRecord client;
  client.client = number_of<std::uint32_t>(fields[2], where);
  client.distribution = number_of<int>(fields[3], where);
  client.num_examples = number_of<std::int64_t>(fields[4], where);
  client.loss = number_of<double>(fields[5], where);
  client.accuracy_before = number_of<double>(fields[6], where);
  client.accuracy_after = number_of<double>(fields[7], where);
  client.strategy = fields[8];
  return client;
}

/// Hangs every line of clients.csv under its round.
void read_clients(const std::filesystem::path& folder, RunData& run) {
  const std::string text = read_text(folder / "clients.csv");
  std::map<std::pair<std::string, int>, RoundRecord*> rounds;
  for (AlgorithmRun& algorithm : run.algorithms) {
    for (RoundRecord& round : algorithm.rounds) {
      rounds[{algorithm.label, round.round}] = &round;
    }
  }
  const std::vector<Line> lines = complete_lines(text, (folder / "clients.csv").string());
  require(!lines.empty() && lines.front().text == detail::kClientsHeader, ErrorCode::invalid_data,
          "{}: must start with the line \"{}\"", (folder / "clients.csv").string(), detail::kClientsHeader);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> fields = detail::split_csv_line(lines[i].text, lines[i].where);
    require(fields.size() == 9, ErrorCode::invalid_data, "{}: must have 9 columns, got {}", lines[i].where,
            fields.size());
    const auto round = rounds.find({fields[0], number_of<int>(fields[1], lines[i].where)});
    if (round != rounds.end()) {
      round->second->clients.push_back(client_of(fields, lines[i].where));
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
  read_events(folder, run);
  read_clients(folder, run);
  for (AlgorithmRun& algorithm : run.algorithms) {
    algorithm.folder = folder;
  }
  if (std::filesystem::exists(folder / "summary.json")) {
    run.summary = read_summary(folder / "summary.json");
  }
  return run;
}

std::vector<double> read_mixing(const MixingFile& mixing) {
  const NpyArray array = read_npy(mixing.file);
  const std::vector<std::int64_t> expected{static_cast<std::int64_t>(mixing.receivers.size()),
                                           static_cast<std::int64_t>(mixing.sources.size())};
  require(array.shape == expected, ErrorCode::invalid_data, "{}: must be {} receivers x {} sources", array.name,
          expected[0], expected[1]);
  return array.to_doubles();
}

}  // namespace feroma
