#pragma once

#include <map>
#include <optional>
#include <string>

#include "feroma/core/error.h"

namespace feroma::faults {

/// `--name value` pairs; the first word without a name is CONFIG.
class Arguments {
 public:
  Arguments(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      const std::string word = argv[i];
      if (!word.starts_with("--")) {
        values_["CONFIG"] = word;
        continue;
      }
      feroma::require(i + 1 < argc, ErrorCode::invalid_config, "{} needs a value", word);
      values_[word] = argv[++i];
    }
  }
  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string require(const std::string& name) const {
    const auto value = find(name);
    feroma::require(value.has_value(), ErrorCode::invalid_config, "{} is needed", name);
    return *value;
  }

 private:
  std::map<std::string, std::string> values_;
};

/// Seconds that one second of a program's clock takes.
inline double clock_factor(const Arguments& arguments) { return std::stod(arguments.find("--clock").value_or("1")); }

}  // namespace feroma::faults
