#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "feroma/core/settings.h"

namespace feroma {

/// Everything wrong with a config; all of it is reported at once.
class Problems {
 public:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    messages_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  [[nodiscard]] const std::vector<std::string>& messages() const { return messages_; }
  /// Puts file and line before every message that starts with a key of `settings`.
  void locate(const Settings& settings);
  /// Throws invalid_config with one line per problem, if there is any.
  void raise() const;

 private:
  std::vector<std::string> messages_;
};

}  // namespace feroma
