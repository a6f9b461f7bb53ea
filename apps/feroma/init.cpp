#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/runtime/fitted_run.h"
#include "options.h"

namespace feroma::cli {
namespace {

constexpr int kCommentColumn = 32;
/// The methods that a new file compares.
constexpr std::array<std::string_view, 2> kMethods{"feroma", "fedavg"};
/// Keys of these that a new file sets; their other options are left to the method.
constexpr std::array<std::string_view, 2> kMethodKeys{"name", "preset"};

enum class Detail { usual, full };

/// Whether a line takes part, or is there to be read and to be taken into use.
enum class Use { live, commented_out };

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A default of nothing (empty, zero, false) leaves a choice to the program; such lines start commented out.
bool is_nothing(const OptionInfo& option) {
  return option.value == SettingValue(false) || option.value == SettingValue(std::int64_t{0}) ||
         option.value == SettingValue(0.0) || option.value == SettingValue(std::string());
}

/// The help text, followed by what the value may be where that is a choice or, in a full file, a number.
std::string comment(const OptionInfo& option, Detail detail) {
  if (option.type == "choice") {
    return fmt::format("{}: {}", option.help, option.range);
  }
  const bool is_number = option.type == "integer" || option.type == "number";
  return detail == Detail::full && is_number ? fmt::format("{} ({})", option.help, kind_text(option)) : option.help;
}

/// One key: its meaning behind it, or above it where there are so many that they are read from top to bottom.
std::string line(const OptionTable& table, const OptionInfo& option, Use use, Detail detail) {
  const std::string setting =
      fmt::format("{}{} = {}", use == Use::live ? "" : "# ", name_in(table, option), to_string(option.value.value()));
  const std::string meaning = comment(option, detail);
  return detail == Detail::full ? fmt::format("{}{}\n\n", wrapped(meaning, "# "), setting)
                                : fmt::format("{:<{}}# {}\n", setting, kCommentColumn, meaning);
}

std::string heading(const OptionTable& table, Use use, Detail detail) {
  return fmt::format("{}{}{}\n{}", wrapped(table.about, "# "), use == Use::live ? "" : "# ",
                     table.title.substr(0, table.title.find(' ')), detail == Detail::full ? "\n" : "");
}

/// A table of the scenario file with the defaults of its options.
std::string settings_table(const OptionTable& table, Detail detail) {
  std::string text = heading(table, Use::live, detail);
  for (const OptionInfo& option : table.options) {
    const bool is_left = is_nothing(option) || follows_others(option.key);
    text += line(table, option, is_left ? Use::commented_out : Use::live, detail);
  }
  return text;
}

std::string algorithm_table(const OptionTable& table, Detail detail) {
  const bool runs = is_one_of(kMethods, table.name);
  std::string text = heading(table, runs ? Use::live : Use::commented_out, detail);
  for (const OptionInfo& option : table.options) {
    const bool sets = is_one_of(kMethodKeys, name_in(table, option));
    if (sets || detail == Detail::full) {
      text += line(table, option, runs && sets ? Use::live : Use::commented_out, detail);
    }
  }
  return text;
}

/// The table that makes a scenario file one of a federation's server; `feroma run` takes no file with it.
std::string server_table() {
  const OptionTable table = server_options();
  std::string text = heading(table, Use::commented_out, Detail::full);
  for (const OptionInfo& option : table.options) {
    text += line(table, option, Use::commented_out, Detail::full);
  }
  return text;
}

std::string scenario_file(const std::string& file_name, Detail detail) {
  std::string text = fmt::format("# A federation to start from. Run it with: feroma run {}\n", file_name);
  text +=
      "# Lines that begin with \"# key =\" show defaults that are usually left alone, or that follow other\n"
      "# keys and the data.\n";
  const std::vector<OptionTable> methods = algorithm_tables();
  for (const OptionTable& table : scenario_tables()) {
    text += "\n" + settings_table(table, detail);
  }
  text += "\n# One table per algorithm; all of them see the same data (`feroma list algorithms`).\n";
  for (const std::string_view name : kMethods) {
    const auto method =
        std::find_if(methods.begin(), methods.end(), [name](const OptionTable& table) { return table.name == name; });
    require(method != methods.end(), ErrorCode::internal, "[init] this build has no algorithm \"{}\"", name);
    text += algorithm_table(*method, detail) + "\n";
  }
  if (detail == Detail::full) {
    for (const OptionTable& table : methods) {
      text += is_one_of(kMethods, table.name) ? "" : algorithm_table(table, detail) + "\n";
    }
    text += server_table();
  }
  return text;
}

void write_scenario(const std::string& name, bool force, Detail detail) {
  std::filesystem::path file = name;
  require(file.has_filename(), ErrorCode::invalid_config, "[init] NAME must name a file, got \"{}\"", name);
  if (file.extension() != ".toml") {
    file += ".toml";
  }
  require(force || !std::filesystem::exists(file), ErrorCode::invalid_config, "[init] {} exists; --force replaces it",
          file.string());
  write_file_atomically(file, scenario_file(file.filename().string(), detail));
  fmt::print("wrote {}; run it with: feroma run {}\n", file.string(), file.string());
}

}  // namespace

void add_init_command(CLI::App& app) {
  struct Arguments {
    std::string name = "scenario";
    bool force = false;
    bool full = false;
  };
  CLI::App* command = app.add_subcommand("init", "Write a commented scenario file to start from");
  command->footer("Example:\n  feroma init study        # writes study.toml\n  feroma init study --full");
  // Shared because CLI11 copies the callback; the options write into it while parsing.
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->name, "File to write, with or without .toml")->capture_default_str();
  command->add_flag("--force", arguments->force, "Replace an existing file");
  command->add_flag("--full", arguments->full, "Every key of every algorithm and of a server too, commented out");
  command->callback([arguments] {
    write_scenario(arguments->name, arguments->force, arguments->full ? Detail::full : Detail::usual);
  });
}

}  // namespace feroma::cli
