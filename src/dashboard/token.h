#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace feroma::dashboard {

/// 32 hexadecimal digits from the operating system's generator.
[[nodiscard]] std::string random_token();
/// The first line of a file; one that is short or not printable is an invalid_config error.
[[nodiscard]] std::string read_token(const std::filesystem::path& file);
/// Whether they are equal, in a time that does not tell how much of them is.
[[nodiscard]] bool same_token(std::string_view expected, std::string_view given);
/// The value of a cookie in a Cookie header; empty where it is not there.
[[nodiscard]] std::string cookie_value(std::string_view header, std::string_view name);

}  // namespace feroma::dashboard
