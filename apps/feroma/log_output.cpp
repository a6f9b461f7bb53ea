#include "log_output.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>

#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "terminal.h"

namespace feroma::cli {
namespace {

// Process-wide because the log is: options of the command line set them before anything runs.
bool verbose_log = false;
bool json_log = false;
bool warnings_only = false;

std::string_view level_of(log::Severity severity) {
  switch (severity) {
    case log::Severity::debug: return "debug";
    case log::Severity::info: return "info";
    case log::Severity::warning: return "warning";
  }
  unreachable();
}

/// The wall clock as RFC 3339 writes it, with milliseconds.
std::string time_now() {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)),
                     milliseconds);
}

void write_json(std::string_view level, std::string_view message, std::span<const log::Field> fields) {
  nlohmann::ordered_json line{{"time", time_now()}, {"level", level}, {"message", message}};
  for (const log::Field& field : fields) {
    std::visit([&](const auto& value) { line[std::string(field.name)] = value; }, field.value);
  }
  // What a peer sent may be no UTF-8; the log must go on all the same.
  fmt::print(stderr, "{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void write_text(const log::Entry& entry) {
  const std::string mark = entry.severity == log::Severity::warning ? red("warning:", stderr) + " " : "";
  fmt::print(stderr, "{}{}\n", mark, entry.message);
}

}  // namespace

void log_to_stderr(bool verbose) {
  verbose_log = verbose;
  log::set_sink([](const log::Entry& entry) {
    const bool wanted =
        warnings_only ? entry.severity == log::Severity::warning : entry.severity != log::Severity::debug;
    if (!wanted && !verbose_log) {
      return;
    }
    if (json_log) {
      write_json(level_of(entry.severity), entry.message, entry.fields);
    } else {
      write_text(entry);
    }
  });
}

void log_warnings_only() { warnings_only = true; }

void add_log_format_option(CLI::App& command) {
  const auto parse = [](const std::string& name) {
    if (name != "text" && name != "json") {
      throw CLI::ValidationError("--log-format", fmt::format("must be text or json, got {}", name));
    }
    json_log = name == "json";
  };
  command.add_option_function<std::string>("--log-format", parse, "How to log to stderr; json is one object per line")
      ->option_text("text|json [text]");
}

bool logs_json() { return json_log; }

void print_news(const std::string& text, std::initializer_list<log::Field> fields) {
  if (json_log) {
    log::write(log::Severity::info, text, fields);
    return;
  }
  fmt::print("{}\n", text);
  std::fflush(stdout);
}

void print_error(std::string_view message) {
  if (json_log) {
    write_json("error", message, {});
  } else {
    fmt::print(stderr, "{} {}\n", red("feroma:", stderr), message);
  }
}

void print_stopped(std::string_view message) {
  if (json_log) {
    write_json("info", message, {});
  } else {
    fmt::print(stderr, "feroma: {}\n", message);
  }
}

}  // namespace feroma::cli
