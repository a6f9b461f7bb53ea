#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "commands.h"
#include "feroma/algorithms/registry.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/options.h"
#include "feroma/partition/scenario.h"
#include "feroma/runtime/experiment.h"
#include "feroma/runtime/fitted_run.h"

namespace feroma::cli {
namespace {

constexpr int kCommentColumn = 32;

std::string line(std::string_view key, const std::string& value, std::string_view comment) {
  return fmt::format("{:<{}}# {}\n", fmt::format("{} = {}", key, value), kCommentColumn, comment);
}

/// A default of nothing (empty, zero, false) leaves a choice to the program; such lines start commented out.
bool is_nothing(const SettingValue& value) {
  return value == SettingValue(false) || value == SettingValue(std::int64_t{0}) || value == SettingValue(0.0) ||
         value == SettingValue(std::string());
}

/// The names of a choice; other spellings stand beside the one that is written back: "covariate P(X) | ...".
std::string choices(const Field::Choice& choice) {
  const std::string before = choice.get();
  std::vector<std::pair<std::string, std::string>> spellings;
  for (const std::string& name : choice.names) {
    choice.set(name);
    const std::string written = choice.get();
    const auto known = std::find_if(spellings.begin(), spellings.end(),
                                    [&written](const auto& entry) { return entry.first == written; });
    if (known == spellings.end()) {
      spellings.emplace_back(written, name);
    } else {
      known->second += " " + name;
    }
  }
  choice.set(before);
  std::string text;
  for (const auto& [written, all] : spellings) {
    text += (text.empty() ? "" : " | ") + all;
  }
  return text;
}

/// The help text, followed by what the value may be.
std::string comment(const Field& field) {
  const auto* choice = std::get_if<Field::Choice>(&field.target);
  return choice == nullptr ? field.help : fmt::format("{}: {}", field.help, choices(*choice));
}

/// A table with the defaults of its options, from the list that also reads them.
template <class Options>
std::string table(std::string_view name) {
  Options options;
  std::string text = fmt::format("[{}]\n", name);
  for (const Field& field : fields_of(options)) {
    const SettingValue value = field.value();
    const bool is_left = is_nothing(value) || follows_others(fmt::format("{}.{}", name, field.name));
    text += line((is_left ? "# " : "") + field.name, to_string(value), comment(field));
  }
  return text;
}

std::string algorithm_table(std::string_view name) {
  const std::vector<AlgorithmEntry>& known = known_algorithms();
  const auto entry =
      std::find_if(known.begin(), known.end(), [name](const AlgorithmEntry& row) { return row.name == name; });
  require(entry != known.end(), ErrorCode::internal, "[init] this build has no algorithm \"{}\"", name);
  std::string text = "[[algorithm]]\n" + line("name", to_string(std::string(name)), entry->source);
  if (!entry->presets.empty()) {
    text += line("preset", to_string(std::string(entry->presets.front())),
                 fmt::format("{}", fmt::join(entry->presets, " | ")));
  }
  return text;
}

std::string scenario_file(const std::string& file_name) {
  std::string text = fmt::format("# A federation to start from. Run it with: feroma run {}\n", file_name);
  text +=
      "# Lines that begin with \"# key =\" show defaults that are usually left alone, or that follow the other keys\n# "
      "and the data.\n\n";
  text += table<ScenarioOptions>("scenario") + "\n";
  text += "# Who is there when; without these, everybody always is.\n";
  text += table<MembershipOptions>("membership") + "\n";
  text += table<TrainingOptions>("training") + "\n";
  text += "# One table per algorithm; all of them see the same data (`feroma list algorithms`).\n";
  text += algorithm_table("feroma") + "\n";
  text += algorithm_table("fedavg") + "\n";
  text += table<PrivacyOptions>("privacy") + "\n";
  text += "# Simulated clients that lie; without these, nobody does.\n";
  text += table<AttackOptions>("attack");
  return text;
}

void write_scenario(const std::string& name, bool force) {
  std::filesystem::path file = name;
  require(file.has_filename(), ErrorCode::invalid_config, "[init] NAME must name a file, got \"{}\"", name);
  if (file.extension() != ".toml") {
    file += ".toml";
  }
  require(force || !std::filesystem::exists(file), ErrorCode::invalid_config, "[init] {} exists; --force replaces it",
          file.string());
  write_file_atomically(file, scenario_file(file.filename().string()));
  fmt::print("wrote {}; run it with: feroma run {}\n", file.string(), file.string());
}

}  // namespace

void add_init_command(CLI::App& app) {
  struct Arguments {
    std::string name = "scenario";
    bool force = false;
  };
  CLI::App* command = app.add_subcommand("init", "Write a commented scenario file to start from");
  command->footer("Example:\n  feroma init study        # writes study.toml");
  // Shared because CLI11 copies the callback; the options write into it while parsing.
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("NAME", arguments->name, "File to write, with or without .toml")->capture_default_str();
  command->add_flag("--force", arguments->force, "Replace an existing file");
  command->callback([arguments] { write_scenario(arguments->name, arguments->force); });
}

}  // namespace feroma::cli
