#include "feroma/report/run_writer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "feroma/report/schema.h"
#include "report/append_file.h"
#include "report/csv.h"
#include "report/csv_table.h"
#include "report/record_json.h"

namespace feroma {
namespace detail {

/// A client in a round.
struct ClientRow {
  const RoundRecord& round;
  const ClientRecord& client;
};

}  // namespace detail

namespace {

using detail::ClientRow;
using Json = nlohmann::ordered_json;

constexpr const char* kMetricsFile = "metrics.csv";
constexpr const char* kClientsFile = "clients.csv";
constexpr const char* kEventsFile = "events.jsonl";

template <class Value>
void put_value(std::string& line, const Value& value) {
  fmt::format_to(std::back_inserter(line), "{}", value);
}

/// An absent value is an empty field, a present one the shortest text that reads back to the same number.
void put_value(std::string& line, const std::optional<double>& value) {
  if (value) {
    put_value(line, *value);
  }
}

constexpr std::array<detail::CsvColumn<RoundRecord>, 13> kMetrics{{
    {"algorithm", [](std::string& line, const RoundRecord& r) { put_value(line, detail::csv_field(r.algorithm)); }},
    {"round", [](std::string& line, const RoundRecord& r) { put_value(line, r.round); }},
    {"loss", [](std::string& line, const RoundRecord& r) { put_value(line, r.loss); }},
    {"accuracy_before", [](std::string& line, const RoundRecord& r) { put_value(line, r.accuracy_before); }},
    {"accuracy_after", [](std::string& line, const RoundRecord& r) { put_value(line, r.accuracy_after); }},
    {"global_share", [](std::string& line, const RoundRecord& r) { put_value(line, r.global_share); }},
    {"clustered_share", [](std::string& line, const RoundRecord& r) { put_value(line, r.clustered_share); }},
    {"personal_share", [](std::string& line, const RoundRecord& r) { put_value(line, r.personal_share); }},
    {"seconds", [](std::string& line, const RoundRecord& r) { put_value(line, r.seconds); }},
    {"bytes_up", [](std::string& line, const RoundRecord& r) { put_value(line, r.bytes_up); }},
    {"bytes_down", [](std::string& line, const RoundRecord& r) { put_value(line, r.bytes_down); }},
    {"epsilon", [](std::string& line, const RoundRecord& r) { put_value(line, r.epsilon); }},
    {"test_accuracy", [](std::string& line, const RoundRecord& r) { put_value(line, r.test_accuracy); }},
}};

constexpr std::array<detail::CsvColumn<ClientRow>, 9> kClients{{
    {"algorithm", [](std::string& line, const ClientRow& r) { put_value(line, detail::csv_field(r.round.algorithm)); }},
    {"round", [](std::string& line, const ClientRow& r) { put_value(line, r.round.round); }},
    {"client", [](std::string& line, const ClientRow& r) { put_value(line, r.client.client); }},
    {"distribution", [](std::string& line, const ClientRow& r) { put_value(line, r.client.distribution); }},
    {"num_examples", [](std::string& line, const ClientRow& r) { put_value(line, r.client.num_examples); }},
    {"loss", [](std::string& line, const ClientRow& r) { put_value(line, r.client.loss); }},
    {"accuracy_before", [](std::string& line, const ClientRow& r) { put_value(line, r.client.accuracy_before); }},
    {"accuracy_after", [](std::string& line, const ClientRow& r) { put_value(line, r.client.accuracy_after); }},
    {"strategy", [](std::string& line, const ClientRow& r) { put_value(line, detail::csv_field(r.client.strategy)); }},
}};

/// "mixing/feroma-auto-6.npy", relative to the run's folder.
std::string array_file(std::string_view kind, const std::string& algorithm, int round) {
  require(is_file_name(algorithm), ErrorCode::invalid_config,
          "[report] label must be usable as a file name, got \"{}\"", algorithm);
  return fmt::format("{}/{}-{}.npy", kind, algorithm, round);
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

/// What clients.csv has no columns for, column by column; null where nothing is known.
Json client_columns(const RoundRecord& record) {
  const auto any = [&record](auto known) { return std::any_of(record.clients.begin(), record.clients.end(), known); };
  const bool moved = any([](const ClientRecord& c) { return c.moved.has_value(); });
  const bool spent = any([](const ClientRecord& c) { return c.epsilon.has_value(); });
  if (!moved && !spent && !any([](const ClientRecord& c) { return c.bytes_up > 0 || c.bytes_down > 0; })) {
    return nullptr;
  }
  using Seconds = std::chrono::duration<double>;
  const double time = std::chrono::duration_cast<Seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  Json columns{{"algorithm", record.algorithm}, {"round", record.round},     {"time", time},
               {"client", Json::array()},       {"bytes_up", Json::array()}, {"bytes_down", Json::array()}};
  for (const ClientRecord& client : record.clients) {
    columns["client"].push_back(client.client);
    columns["bytes_up"].push_back(client.bytes_up);
    columns["bytes_down"].push_back(client.bytes_down);
    if (moved) {
      columns["moved"].push_back(or_null(client.moved));
    }
    if (spent) {
      columns["epsilon"].push_back(or_null(client.epsilon));
    }
  }
  return columns;
}

/// Returns the file's SHA-256.
std::string write_array(const std::filesystem::path& path, const std::vector<double>& values, std::size_t rows) {
  require(rows > 0 && values.size() % rows == 0, ErrorCode::internal, "[report] {} values do not fill {} rows",
          values.size(), rows);
  std::vector<float> narrow(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    narrow[i] = static_cast<float>(values[i]);
  }
  const std::array<std::int64_t, 2> shape{static_cast<std::int64_t>(rows),
                                          static_cast<std::int64_t>(values.size() / rows)};
  const Bytes bytes = npy_bytes(narrow, shape);
  write_file_atomically(path, bytes);
  return sha256(bytes);
}

}  // namespace

struct RunWriter::Files {
  detail::CsvTable<RoundRecord> metrics;
  detail::CsvTable<ClientRow> clients;
  detail::AppendFile events;

  void event(const char* name, const Json& fields) {
    Json line{{"event", name}};
    line.update(fields);
    // A label that is not UTF-8 must not end a run that has worked for hours.
    events.append(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }
};

RunWriter::RunWriter(const std::filesystem::path& folder, Mode mode) : folder_(folder) {
  const bool create = mode == Mode::create;
  for (const char* name : {"", "mixing", "profiles", "models", "checkpoint"}) {
    const std::filesystem::path part = folder / name;
    make_writable_folder(part);
    remove_unfinished_writes(part);
  }
  files_ = std::make_unique<Files>(Files{detail::CsvTable<RoundRecord>(folder / kMetricsFile, create, kMetrics),
                                         detail::CsvTable<ClientRow>(folder / kClientsFile, create, kClients),
                                         detail::AppendFile(folder / kEventsFile, create)});
  if (create) {
    // Their contents are synced with every round; without this their names might not survive a power loss.
    detail::sync_folder(folder);
  }
}

RunWriter::RunWriter(RunWriter&&) noexcept = default;
RunWriter::~RunWriter() = default;

void RunWriter::run_started(const Settings& config) {
  Json values = Json::object();
  for (const auto& [key, setting] : config) {
    values[key] = detail::json_of(setting.value);
  }
  files_->event("run_started", {{"schema", kEventsSchema}, {"config", std::move(values)}});
}

void RunWriter::run_resumed(const std::string& algorithm, int round) {
  files_->event("run_resumed", {{"algorithm", algorithm}, {"round", round}});
}

void RunWriter::round_finished(const RoundRecord& record) {
  files_->metrics.add(record);
  for (const ClientRecord& client : record.clients) {
    files_->clients.add({record, client});
  }
  for (const DroppedRecord& dropped : record.dropped) {
    files_->event("client_dropped", {{"algorithm", record.algorithm},
                                     {"round", record.round},
                                     {"client", dropped.client},
                                     {"reason", dropped.reason}});
  }
  files_->event("round_finished", detail::json_of(record));
  const Json columns = client_columns(record);
  if (!columns.is_null()) {
    files_->event("clients", columns);
  }
}

void RunWriter::mixing(const MixingRecord& record) {
  require(record.weights.size() == record.receivers.size() * record.sources.size(), ErrorCode::internal,
          "[report] mixing must be {} x {}, got {} weights", record.receivers.size(), record.sources.size(),
          record.weights.size());
  const std::string file = array_file("mixing", record.algorithm, record.round);
  const std::string digest = write_array(folder_ / file, record.weights, record.receivers.size());
  files_->event("mixing", {{"algorithm", record.algorithm},
                           {"round", record.round},
                           {"receivers", record.receivers},
                           {"sources", record.sources},
                           {"file", file},
                           {"sha256", digest}});
}

void RunWriter::profiles(const ProfileRecord& record) {
  const std::string file = array_file("profiles", record.algorithm, record.round);
  const std::string digest = write_array(folder_ / file, record.values, record.rows);
  if (!record.receivers.empty()) {
    require(record.receivers.size() == record.rows, ErrorCode::internal,
            "[report] {} rows of profiles are of {} clients", record.rows, record.receivers.size());
    files_->event("profiles", {{"algorithm", record.algorithm},
                               {"round", record.round},
                               {"receivers", record.receivers},
                               {"file", file},
                               {"sha256", digest}});
  }
}

void RunWriter::algorithm_finished(const ResultRecord& record) {
  files_->event("algorithm_finished", detail::json_of(record));
}

void RunWriter::run_finished(double seconds) { files_->event("run_finished", {{"seconds", seconds}}); }

RunFileSizes RunWriter::flush_and_sizes() {
  return {files_->metrics.flush(), files_->clients.flush(), files_->events.flush()};
}

GrownFiles RunWriter::grown() const {
  return {{kMetricsFile, files_->metrics.grown()},
          {kClientsFile, files_->clients.grown()},
          {kEventsFile, files_->events.grown()}};
}

std::string damage_of_arrays(const std::filesystem::path& folder, std::uint64_t events) {
  const std::string text = read_text(folder / kEventsFile).substr(0, events);
  std::string first;
  int others = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json event = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!event.is_object() || !event.contains("file") || !event.contains("sha256")) {
      continue;
    }
    const std::filesystem::path file = folder / event["file"].get<std::string>();
    const auto wanted = event["sha256"].get<std::string>();
    const bool is_there = std::filesystem::exists(file);
    if (is_there && sha256(read_file(file)) == wanted) {
      continue;
    }
    others += first.empty() ? 0 : 1;
    if (first.empty()) {
      first = is_there ? fmt::format("{}: is damaged: its SHA-256 must be {}", file.string(), wanted)
                       : fmt::format("{}: is missing", file.string());
    }
  }
  return others == 0 ? first : fmt::format("{}; {} more are not as they were written", first, others);
}

void check_run_files(const std::filesystem::path& folder, const RunFileSizes& sizes) {
  const std::array<std::pair<const char*, std::uint64_t>, 3> files{
      {{kMetricsFile, sizes.metrics}, {kClientsFile, sizes.clients}, {kEventsFile, sizes.events}}};
  for (const auto& [name, size] : files) {
    const std::filesystem::path file = folder / name;
    const std::uint64_t now = std::filesystem::exists(file) ? std::filesystem::file_size(file) : 0;
    require(size <= now, ErrorCode::invalid_data,
            "{}: has {} bytes, but the checkpoint counts on {}; restore it from a backup, or give up its lines: "
            "truncate -s {} {}",
            file.string(), now, size, size, file.string());
  }
}

void RunWriter::truncate_to(const RunFileSizes& sizes) {
  check_run_files(folder_, sizes);
  files_->metrics.truncate_to(sizes.metrics);
  files_->clients.truncate_to(sizes.clients);
  files_->events.truncate_to(sizes.events);
}

}  // namespace feroma
