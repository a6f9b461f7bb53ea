#include "usage.h"

#include <fmt/core.h>

#include <vector>

#include "feroma/core/options.h"

namespace feroma::cli {
namespace {

/// The command the user got to: "feroma data get" of `feroma data get --nmae x`.
const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
  }
  return *command;
}

std::string full_name(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name() : full_name(*parent) + " " + command.get_name();
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* subcommand : command.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(subcommand->get_name());
  }
  return names;
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = innermost(app);
  const std::string name = full_name(command);
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  std::string problem = error.what();
  // A word nobody understood explains more than the argument that is missing because of it.
  if (!unknown.empty()) {
    const std::string word = unknown.front().substr(0, unknown.front().find('='));
    const bool is_option = word.starts_with('-');
    const std::vector<std::string> known = is_option ? option_names(command) : command_names(command);
    const std::string near = nearest_name(word, known);
    const std::string kind = is_option ? "option" : known.empty() ? "argument" : "command";
    problem = fmt::format("unknown {} {}{}", kind, word, near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
  return fmt::format("{}\nSee {} --help.", problem, name);
}

}  // namespace feroma::cli
