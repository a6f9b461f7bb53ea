#pragma once

#include <cstddef>
#include <string_view>

namespace feroma {

/// What an algorithm's label must be, for messages.
inline constexpr std::string_view kLabelRule = "up to 64 letters, digits, '-', '_' or '.'";

/// Whether a text can be an algorithm's label: it names files, and stands in tables that other programs read. None at
/// all is fine, and left to whoever needs one.
[[nodiscard]] constexpr bool is_algorithm_label(std::string_view text) {
  constexpr std::size_t kLongest = 64;
  return text.size() <= kLongest && !text.starts_with('.') &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.") ==
             std::string_view::npos;
}

}  // namespace feroma
