#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace feroma::detail {

/// Runs a program found in PATH, without a shell, with its output in `log`; returns its exit status (128 + n when
/// signal n ended it), or nothing where there is no such program.
[[nodiscard]] std::optional<int> run_program(const std::vector<std::string>& arguments,
                                             const std::filesystem::path& log);

}  // namespace feroma::detail
