#include <fmt/core.h>

#include <string>

#include "commands.h"

namespace feroma::cli {

void add_format_option(CLI::App& command, Format& format) {
  const auto parse = [&format](const std::string& name) {
    if (name != "text" && name != "json") {
      throw CLI::ValidationError("--format", fmt::format("must be text or json, got {}", name));
    }
    format = name == "json" ? Format::json : Format::text;
  };
  command.add_option_function<std::string>("--format", parse, "How to print the table")
      ->option_text("text|json [text]");
}

}  // namespace feroma::cli
