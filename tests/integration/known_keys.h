#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "feroma/core/setting_lists.h"
#include "tests/integration/cli_support.h"

namespace feroma::test {

/// What `feroma list options` knows, to look keys up in.
class KnownKeys {
 public:
  KnownKeys() : rows_(nlohmann::json::parse(feroma_cli("list options --format json").output, nullptr, false)) {
    for (const auto& row : rows_) {
      keys_.insert(row.value("key", ""));
    }
  }

  [[nodiscard]] const nlohmann::json& rows() const { return rows_; }
  [[nodiscard]] bool has(const std::string& key) const { return keys_.contains(key); }

  /// Whether a scenario file may have the key. The method of `algorithm.2.warmup_rounds` is what `algorithm.2.name` of
  /// the same file says, and any where it does not say.
  [[nodiscard]] bool in_scenario(const std::string& key, const SettingLists& file = {}) const {
    if (!key.starts_with(kAlgorithm)) {
      return has(key);
    }
    const std::string rest = key.substr(kAlgorithm.size());
    const std::string index = rest.substr(0, rest.find('.'));
    const std::string name = rest.substr(std::min(index.size() + 1, rest.size()));
    const auto method = file.find(std::string(kAlgorithm) + index + ".name");
    if (method != file.end()) {
      return has(std::string(kAlgorithm) + std::get<std::string>(method->second.values.front()) + "." + name);
    }
    return has(key) || std::any_of(keys_.begin(), keys_.end(), [&name](const std::string& known) {
             return known.starts_with(kAlgorithm) && known.substr(known.find('.', kAlgorithm.size()) + 1) == name;
           });
  }

  /// Whether a sweep file may have the key.
  [[nodiscard]] bool in_sweep(const std::string& key, const SettingLists& file = {}) const {
    const std::string table = key.substr(0, key.find('.'));
    const std::string rest = key.substr(std::min(table.size() + 1, key.size()));
    if (table == "axes") {
      return in_scenario(rest, file);
    }
    if (table == "variant" || table == "scenario") {
      const std::string name = rest.substr(std::min(rest.find('.'), rest.size() - 1) + 1);
      return has(table + "[]." + name) || in_scenario(name, file);
    }
    return table == "algorithm" ? in_scenario(key, file) : has(key);
  }

  /// Whether a config file of any kind may have the key, where the file's other keys say which kind it is.
  [[nodiscard]] bool in_file(const std::string& key, const SettingLists& file) const {
    const bool is_sweep = std::any_of(file.begin(), file.end(), [](const auto& entry) {
      return entry.first.starts_with("sweep.") || entry.first.starts_with("axes.") ||
             entry.first.starts_with("variant.");
    });
    return is_sweep ? in_sweep(key, file) : in_scenario(key, file);
  }

 private:
  static constexpr std::string_view kAlgorithm = "algorithm.";

  nlohmann::json rows_;
  std::set<std::string> keys_;
};

}  // namespace feroma::test
