#pragma once

#include <CLI/CLI.hpp>
#include <string_view>

namespace feroma::cli {

/// Sends the library's log to stderr, as lines for people unless `--log-format json` was given.
void log_to_stderr(bool verbose);
/// From now on nothing below a warning is printed, unless the user asked for everything: for commands that run many
/// runs.
void log_warnings_only();
/// The option `--log-format text|json` of commands that run for long.
void add_log_format_option(CLI::App& command);
/// Whether the log is for programs.
[[nodiscard]] bool logs_json();
/// The last line of a command that failed.
void print_error(std::string_view message);

}  // namespace feroma::cli
