#include "feroma/report/summary.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/report/schema.h"
#include "report/record_json.h"

namespace feroma {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kIndent = 2;

}  // namespace

Scenario scenario_of(const Settings& settings) {
  constexpr std::string_view kPrefix = "scenario.";
  Scenario scenario;
  for (const auto& [key, setting] : settings) {
    if (key.starts_with(kPrefix)) {
      scenario[key.substr(kPrefix.size())] = setting.value;
    }
  }
  return scenario;
}

ResultRecord without_figures(std::string label, std::string algorithm) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  ResultRecord record;
  record.label = std::move(label);
  record.algorithm = std::move(algorithm);
  record.accuracy = record.accuracy_std_clients = record.accuracy_worst10 = kNone;
  record.seconds_total = record.samples_per_second = kNone;
  record.bytes_up_per_client_round = record.bytes_down_per_client_round = kNone;
  record.forward_passes_per_client_round = record.backward_passes_per_client_round = kNone;
  return record;
}

ResultRecord not_applicable(std::string label, std::string algorithm, std::string reason) {
  ResultRecord record = without_figures(std::move(label), std::move(algorithm));
  record.not_applicable = std::move(reason);
  return record;
}

std::string summary_json(const Summary& summary) {
  Json json;
  json["schema"] = kSummarySchema;
  json["scenario"] = Json::object();
  for (const auto& [key, value] : summary.scenario) {
    json["scenario"][key] = detail::json_of(value);
  }
  json["results"] = Json::array();
  for (const ResultRecord& result : summary.results) {
    json["results"].push_back(detail::json_of(result));
  }
  return json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void write_summary(const std::filesystem::path& path, const Summary& summary) {
  write_file_atomically(path, summary_json(summary));
}

Summary read_summary(const std::filesystem::path& path) { return parse_summary(read_text(path), path.string()); }

Summary parse_summary(std::string_view text, const std::string& name) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  require(json.is_object(), ErrorCode::invalid_data, "{}: is not a JSON object", name);
  detail::check_schema(json, kSummarySchema, name);
  require(json.contains("scenario") && json["scenario"].is_object() && json.contains("results") &&
              json["results"].is_array(),
          ErrorCode::invalid_data, "{}: must have an object `scenario` and an array `results`", name);
  Summary summary;
  for (const auto& [key, value] : json["scenario"].items()) {
    summary.scenario[key] = detail::setting_of(value, fmt::format("{}: scenario.{}", name, key));
  }
  for (const Json& result : json["results"]) {
    summary.results.push_back(detail::result_of(result, fmt::format("{}: result {}", name, summary.results.size())));
  }
  return summary;
}

}  // namespace feroma
