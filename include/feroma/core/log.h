#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>

namespace feroma::log {

enum class Severity { debug, info, warning };

using Sink = std::function<void(Severity, std::string_view)>;

/// Installs where messages go; the library itself prints nothing. Call before threads start.
void set_sink(Sink sink);
void write(Severity severity, std::string_view message);

template <class... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  write(Severity::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  write(Severity::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void warning(fmt::format_string<Args...> format, Args&&... args) {
  write(Severity::warning, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace feroma::log
