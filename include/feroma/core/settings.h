#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace feroma {

using SettingValue = std::variant<bool, std::int64_t, double, std::string>;

/// One value of a config and where it came from ("file.toml:12" or "--set").
struct Setting {
  SettingValue value;
  std::string where;
};

/// A config as a flat list of dotted keys: "scenario.clients", "algorithm.0.preset".
using Settings = std::map<std::string, Setting>;

/// Reads a TOML file; syntax errors, arrays of values and duplicate keys are invalid_config errors with the line.
[[nodiscard]] Settings load_settings(const std::filesystem::path& file);
[[nodiscard]] Settings parse_settings(std::string_view text, const std::string& name);
/// Applies one `key=value` of the command line; the value is read as TOML, and as a plain string where that fails.
void apply_override(Settings& settings, std::string_view assignment);
/// The settings as TOML text that load_settings reads back to the same values.
[[nodiscard]] std::string to_toml(const Settings& settings);
/// A value as it is written in a config file.
[[nodiscard]] std::string to_string(const SettingValue& value);
/// What differs, for a message: "scenario.rounds was 5, is 6". Three keys and how many more; empty where nothing does.
[[nodiscard]] std::string changes_between(const Settings& before, const Settings& now);

}  // namespace feroma
