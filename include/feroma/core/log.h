#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace feroma::log {

enum class Severity { debug, info, warning };

/// A number or a text beside a message, for programs that read the log.
struct Field {
  template <std::integral Value>
  Field(std::string_view field, Value number) : name(field), value(static_cast<std::int64_t>(number)) {}
  Field(std::string_view field, double number) : name(field), value(number) {}
  Field(std::string_view field, std::string_view text) : name(field), value(text) {}

  std::string_view name;
  std::variant<std::int64_t, double, std::string_view> value;
};

/// One message; nothing in it outlives the call.
struct Entry {
  Severity severity = Severity::info;
  std::string_view message;  ///< complete without the fields
  std::span<const Field> fields;
};

using Sink = std::function<void(const Entry&)>;

/// Installs where messages go; the library itself prints nothing. Call before threads start.
void set_sink(Sink sink);
void write(const Entry& entry);
void write(Severity severity, std::string_view message, std::initializer_list<Field> fields = {});

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
