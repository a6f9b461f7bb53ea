#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <string>
#include <string_view>

#include "feroma/core/log.h"

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
/// What happens while a command runs: a line on stdout for people, or one of the log where that is for programs.
void print_news(const std::string& text, std::initializer_list<log::Field> fields);
/// The last line of a command that failed.
void print_error(std::string_view message);
/// The last line of a command that ended because it was told to: no error, so whoever counts those must not see one.
void print_stopped(std::string_view message);

}  // namespace feroma::cli
