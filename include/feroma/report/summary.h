#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/settings.h"
#include "feroma/report/record.h"

namespace feroma {

/// The `[scenario]` table of a config: key and value, without the table's name.
using Scenario = std::map<std::string, SettingValue>;

[[nodiscard]] Scenario scenario_of(const Settings& settings);

/// What summary.json holds.
struct Summary {
  Scenario scenario;
  std::vector<ResultRecord> results;
};

/// The text of summary.json: stable order, absent values as null.
[[nodiscard]] std::string summary_json(const Summary& summary);
/// Writes it atomically.
void write_summary(const std::filesystem::path& path, const Summary& summary);

/// Reads a summary; an invalid_data error names the file, the result and the key that is wrong.
[[nodiscard]] Summary read_summary(const std::filesystem::path& path);
[[nodiscard]] Summary parse_summary(std::string_view text, const std::string& name);

/// A result without numbers, of a method that failed or has no meaning for the model or the data.
[[nodiscard]] ResultRecord without_figures(std::string label, std::string algorithm);
[[nodiscard]] ResultRecord not_applicable(std::string label, std::string algorithm, std::string reason);

}  // namespace feroma
