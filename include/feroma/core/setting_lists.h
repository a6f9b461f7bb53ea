#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/settings.h"

namespace feroma {

/// The values of a key and where they came from; a single value is a list of one.
struct SettingList {
  std::vector<SettingValue> values;
  bool single = false;  ///< written as one value, not as a list
  std::string where;
};

/// A config whose keys may hold lists: "sweep.seeds", "axes.scenario.level".
using SettingLists = std::map<std::string, SettingList>;

/// Reads a TOML file as load_settings does, and lists of booleans, numbers and strings too. A quoted key may hold dots:
/// "scenario.level" is the same as scenario.level.
[[nodiscard]] SettingLists load_setting_lists(const std::filesystem::path& file);
[[nodiscard]] SettingLists parse_setting_lists(std::string_view text, const std::string& name);

}  // namespace feroma
