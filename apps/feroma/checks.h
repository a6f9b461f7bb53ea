#pragma once

#include <string>

// For CLI::Option::check: what is wrong with a value, or nothing. The library's own name neither rule nor, for numbers
// without a limit, anything shorter than the largest double.
namespace feroma::cli {

[[nodiscard]] std::string must_be_address(const std::string& given);
[[nodiscard]] std::string must_be_whole(const std::string& given);     ///< and not below 0
[[nodiscard]] std::string must_be_positive(const std::string& given);  ///< a number

}  // namespace feroma::cli
