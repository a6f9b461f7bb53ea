#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands.h"
#include "feroma/bench/figures.h"
#include "feroma/core/build_info.h"
#include "feroma/core/error.h"
#include "requirements.h"

namespace feroma::cli {
namespace {

struct BenchArguments {
  bool quick = false;
  bool requirements = false;
  std::string only;
  std::string csv;
  int threads = 0;
  Format format = Format::text;
};

std::string met_text(const FigureEntry& entry, const Quartiles* value) {
  return value == nullptr || !entry.target ? "-" : (entry.target->met(value->median) ? "yes" : "no");
}

const Quartiles* value_of(const Readings& readings, std::string_view name) {
  const auto found = readings.values.find(std::string(name));
  return found == readings.values.end() ? nullptr : &found->second;
}

std::string note_of(const Readings& readings, std::string_view name) {
  const auto found = readings.notes.find(std::string(name));
  return found == readings.notes.end() ? "" : found->second;
}

bool is_figure(const std::string& name) {
  const auto& figures = known_figures();
  return std::any_of(figures.begin(), figures.end(), [&](const auto& entry) { return entry.name == name; });
}

void print_text(const Readings& readings, const Machine& machine, const BenchOptions& options) {
  fmt::print("{}, {} cores, {}, {} threads{}\n\n", machine.cpu, machine.cores, machine.simd_target, options.threads,
             options.quick ? ", quick: do not quote" : "");
  fmt::print("{:<26}  {:>9}  {:>19}  {:>7}  {:>3}  {}\n", "figure", "measured", "middle half", "target", "met", "what");
  for (const FigureEntry& entry : known_figures()) {
    const Quartiles* value = value_of(readings, entry.name);
    const std::string note = note_of(readings, entry.name);
    if (value == nullptr && note.empty()) {
      continue;  // not asked for
    }
    fmt::print("{:<26}  {:>9}  {:>19}  {:>7}  {:>3}  {}{}\n", entry.name,
               value == nullptr ? "-" : fmt::format("{:.4g}", value->median),
               value == nullptr ? "-" : fmt::format("{:.4g} to {:.4g}", value->low, value->high),
               target_text(entry.target), met_text(entry, value), entry.about,
               note.empty() ? "" : fmt::format(" ({})", note));
  }
  fmt::print("\n{:<26}  {:>9}  {:>19}\n", "behind them", "median", "middle half");
  for (const auto& [name, value] : readings.values) {
    if (!is_figure(name)) {
      fmt::print("{:<26}  {:>9.4g}  {:>19}\n", name, value.median,
                 fmt::format("{:.4g} to {:.4g}", value.low, value.high));
    }
  }
}

nlohmann::ordered_json figure_json(const FigureEntry& entry, const Readings& readings) {
  const Quartiles* value = value_of(readings, entry.name);
  const std::string note = note_of(readings, entry.name);
  nlohmann::ordered_json json{{"median", nullptr}, {"low", nullptr}, {"high", nullptr}, {"repeats", 0}};
  json["target"] = entry.target ? nlohmann::ordered_json(target_text(entry.target)) : nlohmann::ordered_json(nullptr);
  json["met"] = nullptr;
  json["note"] = note.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(note);
  if (value != nullptr) {
    json["median"] = value->median;
    json["low"] = value->low;
    json["high"] = value->high;
    json["repeats"] = value->count;
    if (entry.target) {
      json["met"] = entry.target->met(value->median);
    }
  }
  return json;
}

/// The figures by name at the top, so that scripts need no path; everything else beside them.
void print_json(const Readings& readings, const Machine& machine, const BenchOptions& options) {
  const BuildInfo build = build_info();
  nlohmann::ordered_json json{{"version", build.version}, {"commit", build.commit},     {"cpu", machine.cpu},
                              {"cores", machine.cores},   {"threads", options.threads}, {"simd", machine.simd_target},
                              {"quick", options.quick}};
  auto details = nlohmann::ordered_json::object();
  for (const FigureEntry& entry : known_figures()) {
    const std::string name(entry.name);
    details[name] = figure_json(entry, readings);
    json[name] = details[name]["median"];
  }
  json["figures"] = std::move(details);
  json["raw"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : readings.values) {
    if (!is_figure(name)) {
      json["raw"][name] = value.median;
    }
  }
  fmt::print("{}\n", json.dump(2));
}

/// One row per figure behind what the file already has; a new file begins with the names of the columns.
void append_csv(const std::string& path, const Readings& readings, const Machine& machine, bool quick) {
  const BuildInfo build = build_info();
  const bool fresh = !std::filesystem::exists(path);
  std::ofstream file(path, std::ios::app);
  if (fresh) {
    file << "date,version,machine,figure,median,spread,note\n";
  }
  const std::string date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)));
  const auto cell = [](std::string text) {
    std::replace(text.begin(), text.end(), ',', ' ');
    return text;
  };
  const std::string kind = cell(fmt::format("{}; {} cores; {}", machine.cpu, machine.cores, machine.simd_target));
  for (const FigureEntry& entry : known_figures()) {
    if (const Quartiles* value = value_of(readings, entry.name)) {
      file << fmt::format("{},{}{},{},{},{:.4g},{:.2g},{}{}\n", date, build.version,
                          build.commit.empty() ? "" : "+" + build.commit, kind, entry.name, value->median,
                          value->spread(), quick ? "quick: do not quote; " : "", cell(note_of(readings, entry.name)));
    }
  }
  file.flush();
  require(file.good(), ErrorCode::io, "{}: cannot be written", path);
}

void bench(const BenchArguments& arguments) {
  const auto only = arguments.only.empty() ? std::nullopt : std::optional<std::string_view>(arguments.only);
  const Machine machine = this_machine();
  BenchOptions options;
  options.quick = arguments.quick;
  options.threads = arguments.threads > 0 ? arguments.threads : machine.cores;
  options.say = [](std::string_view text) { fmt::print(stderr, "bench: {}\n", text); };
  if (arguments.requirements) {
    print_requirements(measure_requirements(options), options, arguments.format);
    return;
  }
  const Readings readings = measure_figures(options, only);
  switch (arguments.format) {
    case Format::text: print_text(readings, machine, options); break;
    case Format::json: print_json(readings, machine, options); break;
  }
  if (!arguments.csv.empty()) {
    append_csv(arguments.csv, readings, machine, arguments.quick);
  }
}

}  // namespace

std::string target_text(const std::optional<Target>& target) {
  if (!target) {
    return "-";
  }
  switch (target->side) {
    case Target::Side::at_least: return fmt::format(">= {:g}", target->limit);
    case Target::Side::at_most: return fmt::format("<= {:g}", target->limit);
    case Target::Side::below: return fmt::format("< {:g}", target->limit);
  }
  unreachable();
}

void add_bench_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure this build's speed as ratios, or its profiles, against their targets");
  auto arguments = std::make_shared<BenchArguments>();
  command->add_flag("--quick", arguments->quick, "Fewer repeats and smaller runs");
  CLI::Option* only =
      command->add_option("--only", arguments->only, "Measure one figure, e.g. --only native_over_torch");
  CLI::Option* csv = command->add_option("--csv", arguments->csv, "Also append a row per figure to this file");
  command
      ->add_flag("--requirements", arguments->requirements,
                 "Measure instead what profiles must do (R1 to R5 of the paper), on MNIST; takes minutes")
      ->excludes(only)
      ->excludes(csv);
  command->add_option("--threads", arguments->threads, "Workers of whole runs (default: one per core)")
      ->check(CLI::Range(1, 1024));
  add_format_option(*command, arguments->format);
  command->footer(
      "Example:\n  feroma bench --quick\n  feroma bench --csv benchmarks/history.csv\n  feroma bench --requirements");
  command->callback([arguments] { bench(*arguments); });
}

}  // namespace feroma::cli
