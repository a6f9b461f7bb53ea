#include "options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "feroma/algorithms/registry.h"
#include "feroma/core/error.h"
#include "feroma/data/own_folder.h"
#include "feroma/net/server_options.h"
#include "feroma/runtime/experiment.h"
#include "feroma/sweep/cells.h"

namespace feroma::cli {
namespace {

/// Columns of a terminal, and of the prose in docs.
constexpr std::size_t kWidth = 100;
/// Where a terminal's list says what a key may be.
constexpr std::size_t kKindColumn = 36;

constexpr std::string_view kMarkdownIntroduction =
    "Every key of every config file. `feroma list options` prints the same, or a part by the names of tables, methods "
    "and keys: `feroma list options feroma`. In a file a key stands below the heading of its table; `--set` takes it "
    "with the name in front, such as `--set training.learning_rate=0.1` and `--set algorithm.feroma.warmup_rounds=3`. "
    "The program wrote this page: CONTRIBUTING.md says how.";

/// What the tables of a scenario file are for.
struct Purpose {
  std::string_view table;
  std::string_view about;
};
constexpr std::array kPurposes{
    Purpose{"scenario", "Which data the clients have, how these differ and drift, and how long the run is."},
    Purpose{"membership", "Which clients are there in which round. Without it everybody always is."},
    Purpose{"evaluation", "How often the run is tested on the way."},
    Purpose{"training", "What is trained, and how each client trains it."},
    Purpose{"privacy",
            "What may leave a client. The file of a client that takes part in a federation has this table "
            "alone: the least privacy that it accepts of the server."},
    Purpose{"attack", "Simulated clients that lie. Without it nobody does."},
};

std::string_view purpose_of(std::string_view table) {
  const auto* const found =
      std::find_if(kPurposes.begin(), kPurposes.end(), [table](const Purpose& one) { return one.table == table; });
  return found == kPurposes.end() ? "" : found->about;
}

/// Every table of every kind of config file.
std::vector<OptionTable> all_tables() {
  std::vector<OptionTable> tables = scenario_tables();
  const std::vector<OptionTable> methods = algorithm_tables();
  tables.insert(tables.end(), methods.begin(), methods.end());
  tables.push_back(server_options());
  tables.push_back({"dataset", "[dataset]",
                    "A folder of your own data. Its dataset.toml has this table; lists are written with commas.",
                    own_dataset_options()});
  tables.push_back({"sweep", "[sweep]",
                    "A grid of runs. A sweep file has this table and others; those with brackets may come several "
                    "times, and KEY is any key that a scenario file may have.",
                    sweep_file_options()});
  return tables;
}

std::string joined_names(const std::vector<OptionTable>& tables) {
  std::string text;
  for (const OptionTable& table : tables) {
    text += (text.empty() ? "" : " ") + table.name;
  }
  return text;
}

/// Whether a user who says `word` means this key: all of it, its last parts, or the part that it begins with.
bool means(const std::string& word, const OptionInfo& option) {
  return option.key == word || option.key.ends_with("." + word) || option.key.starts_with(word + ".") ||
         option.key.find("." + word + ".") != std::string::npos;
}

/// The tables, or what is left of them, that a user asks for by the name of a table or of a key.
std::vector<OptionTable> find_options(const std::vector<OptionTable>& tables, const std::string& word) {
  const std::string name = word == "client" ? "privacy" : word;
  std::vector<OptionTable> found;
  std::copy_if(tables.begin(), tables.end(), std::back_inserter(found),
               [&name](const OptionTable& table) { return table.name == name; });
  if (!found.empty()) {
    return found;
  }
  std::vector<std::string> known;
  for (OptionTable table : tables) {
    known.push_back(table.name);
    for (const OptionInfo& option : table.options) {
      known.push_back(name_in(table, option));
    }
    std::erase_if(table.options, [&name](const OptionInfo& option) { return !means(name, option); });
    if (!table.options.empty()) {
      found.push_back(std::move(table));
    }
  }
  if (found.empty()) {
    const std::string near = nearest_name(name, known);
    fail(ErrorCode::invalid_config, "[list] NAME must be a table, an algorithm or a key, got \"{}\"{}", word,
         near.empty() ? fmt::format("; tables are {}", joined_names(tables))
                      : fmt::format("; did you mean \"{}\"?", near));
  }
  return found;
}

std::string default_text(const OptionInfo& option) { return option.value ? to_string(*option.value) : "-"; }

/// A key as it is without a word of the user's, what it may be, and what it means.
void print_option(const OptionTable& table, const OptionInfo& option) {
  const std::string setting = fmt::format("{} = {}", name_in(table, option), default_text(option));
  const std::string kinds = wrapped(kind_text(option), std::string(kKindColumn, ' '));
  const bool beside = setting.size() + 1 < kKindColumn;
  fmt::print("{}{}", setting, beside ? kinds.substr(setting.size()) : "\n" + kinds);
  fmt::print("{}", wrapped(option.help, "    "));
}

void print_text(const std::vector<OptionTable>& tables) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    fmt::print("{}{}\n{}", i == 0 ? "" : "\n", tables[i].title, wrapped(tables[i].about, "# "));
    for (const OptionInfo& option : tables[i].options) {
      print_option(tables[i], option);
    }
  }
}

nlohmann::json default_json(const OptionInfo& option) {
  nlohmann::json json;
  if (option.value) {
    std::visit([&json](const auto& value) { json = value; }, *option.value);
  }
  return json;
}

void print_json(const std::vector<OptionTable>& tables) {
  auto list = nlohmann::ordered_json::array();
  for (const OptionTable& table : tables) {
    for (const OptionInfo& option : table.options) {
      list.push_back({{"key", option.key},
                      {"type", option.type},
                      {"default", default_json(option)},
                      {"range", option.range},
                      {"help", option.help}});
    }
  }
  fmt::print("{}\n", list.dump(2));
}

/// A cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : std::string(1, c);
  }
  return out;
}

/// docs/parameters.md.
void print_markdown(const std::vector<OptionTable>& tables) {
  fmt::print("# Parameters\n\n{}\n", wrapped(kMarkdownIntroduction, ""));
  std::string contents;
  for (const OptionTable& table : tables) {
    contents += fmt::format("{}[{}](#{})", contents.empty() ? "" : ", ", table.name, table.name);
  }
  fmt::print("{}", wrapped(contents + ".", ""));
  for (const OptionTable& table : tables) {
    fmt::print("\n## {}\n\n{}\n", table.name, wrapped(fmt::format("`{}`. {}", table.title, table.about), ""));
    fmt::print("| key | type | default | range | meaning |\n| --- | --- | --- | --- | --- |\n");
    for (const OptionInfo& option : table.options) {
      fmt::print("| `{}` | {} | `{}` | {} | {} |\n", name_in(table, option), option.type, default_text(option),
                 cell(option.range), cell(option.help));
    }
  }
}

void list_options(const std::vector<std::string>& names, const std::string& format) {
  const std::vector<OptionTable> all = all_tables();
  std::vector<OptionTable> tables = names.empty() ? all : std::vector<OptionTable>();
  for (const std::string& name : names) {
    const std::vector<OptionTable> found = find_options(all, name);
    tables.insert(tables.end(), found.begin(), found.end());
  }
  if (format == "json") {
    print_json(tables);
  } else if (format == "markdown") {
    print_markdown(tables);
  } else {
    print_text(tables);
  }
}

}  // namespace

std::vector<OptionTable> scenario_tables() {
  std::vector<OptionTable> tables;
  for (const OptionInfo& option : scenario_file_options()) {
    const std::string name = option.key.substr(0, option.key.find('.'));
    if (tables.empty() || tables.back().name != name) {
      tables.push_back({name, fmt::format("[{}]", name), std::string(purpose_of(name)), {}});
    }
    tables.back().options.push_back(option);
  }
  return tables;
}

std::vector<OptionTable> algorithm_tables() {
  std::vector<OptionTable> tables;
  for (const AlgorithmEntry& entry : known_algorithms()) {
    std::string about = fmt::format("{}: {}.", entry.category, entry.source);
    if (!entry.presets.empty()) {
      about += fmt::format(" Defaults are those of preset {}; `preset` chooses others.", entry.presets.front());
    }
    if (!entry.headline.empty()) {
      about += fmt::format(" Test clients are served by {}.", entry.headline);
    }
    tables.push_back(
        {entry.name, fmt::format("[[algorithm]] name = \"{}\"", entry.name), about, algorithm_options(entry)});
  }
  return tables;
}

OptionTable server_options() {
  return {"server", "[server]", "When the rounds of a federation begin and end. A server's file has it.",
          describe_options<ServerOptions>("server")};
}

std::string name_in(const OptionTable& table, const OptionInfo& option) {
  for (const std::string& prefix : {"algorithm." + table.name + ".", table.name + "."}) {
    if (option.key.starts_with(prefix)) {
      return option.key.substr(prefix.size());
    }
  }
  return option.key;
}

std::string kind_text(const OptionInfo& option) {
  const bool is_number = option.type == "integer" || option.type == "number";
  return is_number ? fmt::format("{} {}", option.type, option.range) : option.range;
}

std::string wrapped(std::string_view text, std::string_view indent) {
  std::string lines;
  std::string line(indent);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const bool first = line.size() == indent.size();
    if (!first && line.size() + 1 + word.size() > kWidth) {
      lines += line + "\n";
      line = fmt::format("{}{}", indent, word);
    } else {
      line += fmt::format("{}{}", first ? "" : " ", word);
    }
  }
  return lines + line + "\n";
}

void add_options_list(CLI::App& list) {
  struct Arguments {
    std::vector<std::string> names;
    std::string format = "text";
  };
  CLI::App* command = list.add_subcommand("options", "Every key of every config file, with default, range and meaning");
  command->footer("Example:\n  feroma list options feroma\n  feroma list options learning_rate --format json");
  // Shared because CLI11 copies the callback; the options write into it while parsing.
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->names,
                      "A table (scenario, training, privacy, server, dataset, sweep, ...), an algorithm or a key; "
                      "without it all");
  command->add_option("--format", arguments->format, "How to print them")
      ->check(CLI::IsMember({"text", "json", "markdown"}))
      ->option_text("text|json|markdown [text]");
  command->callback([arguments] { list_options(arguments->names, arguments->format); });
}

}  // namespace feroma::cli
