#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace feroma::cli {

/// What is wrong with a command line, with the nearest known name where a word is not known.
[[nodiscard]] std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace feroma::cli
