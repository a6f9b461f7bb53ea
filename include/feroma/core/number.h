#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace feroma {

/// A text that is nothing but a number of this type: no blanks, no plus, nothing behind it, and none that is too large.
template <class T>
[[nodiscard]] std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace feroma
