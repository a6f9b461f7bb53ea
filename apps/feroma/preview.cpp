#include "feroma/preview/preview.h"

#include <fmt/core.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "config.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/options.h"
#include "feroma/preview/html.h"
#include "feroma/preview/png.h"
#include "feroma/preview/sheet.h"
#include "feroma/runtime/run.h"

namespace feroma::cli {
namespace {

struct PreviewArguments {
  ConfigArguments config;
  std::string png;
  std::string html;
  std::optional<int> clients;
  std::optional<int> stages;
  int samples = PreviewLimits{}.samples;
  bool force = false;
  Format format = Format::text;
};

void refuse_existing(const std::string& path, bool force) {
  require(path.empty() || force || !std::filesystem::exists(path), ErrorCode::invalid_config,
          "{} exists; --force replaces it", path);
}

/// The ids of every client and stage unless the command line asked for fewer.
nlohmann::ordered_json schedule_json(const Federation& federation, const PreviewArguments& arguments) {
  const Schedule& schedule = federation.schedule();
  const std::vector<StageSpan> all = stage_spans(schedule);
  const std::vector<StageSpan> spans = shown_stages(all, arguments.stages.value_or(static_cast<int>(all.size())));
  nlohmann::ordered_json json;
  json["dataset"] = federation.options().dataset;
  json["shift"] = name_of(federation.options().shift);
  json["distributions"] = schedule.bank.size();
  json["stages"] = nlohmann::ordered_json::array();
  for (const StageSpan& span : spans) {
    json["stages"].push_back({{"stage", span.stage + 1}, {"first_round", span.first}, {"last_round", span.last}});
  }
  json["clients"] = nlohmann::ordered_json::array();
  const int most = arguments.clients.value_or(federation.options().clients);
  for (std::size_t k = 0; k < schedule.ids.size() && k < static_cast<std::size_t>(most); ++k) {
    std::vector<int> ids;
    for (const StageSpan& span : spans) {
      ids.push_back(schedule.ids[k][static_cast<std::size_t>(span.stage)]);
    }
    const bool tested = k < federation.test_clients();
    json["clients"].push_back({{"client", k},
                               {"distributions", ids},
                               {"test", tested ? nlohmann::ordered_json(schedule.test_ids[k]) : nullptr}});
  }
  return json;
}

/// Draws the sheet and writes the files asked for.
Preview write_sheet(const Federation& federation, const PreviewArguments& arguments) {
  const PreviewLimits defaults;
  const Preview preview = make_preview(federation, {.clients = arguments.clients.value_or(defaults.clients),
                                                    .stages = arguments.stages.value_or(defaults.stages),
                                                    .samples = arguments.samples});
  const Bytes png = encode_png(draw_sheet(preview));
  if (!arguments.png.empty()) {
    write_file_atomically(arguments.png, png);
  }
  if (!arguments.html.empty()) {
    write_file_atomically(arguments.html, preview_html(preview, png));
  }
  return preview;
}

void preview_scenario(PreviewArguments arguments) {
  const Experiment experiment = read_experiment(load_config(arguments.config));
  if (arguments.format == Format::text && arguments.png.empty() && arguments.html.empty()) {
    arguments.png = std::filesystem::path(arguments.config.file).stem().string() + "-preview.png";
  }
  refuse_existing(arguments.png, arguments.force);
  refuse_existing(arguments.html, arguments.force);
  const std::unique_ptr<Federation> made = make_federation(experiment);
  const Federation& federation = *made;
  std::vector<std::string> written;
  std::string missing;
  if (!arguments.png.empty() || !arguments.html.empty()) {
    missing = left_out(write_sheet(federation, arguments));
    for (const std::string& path : {arguments.png, arguments.html}) {
      if (!path.empty()) {
        written.push_back(path);
      }
    }
  }
  if (arguments.format == Format::json) {
    nlohmann::ordered_json json = schedule_json(federation, arguments);
    json["files"] = written;
    fmt::print("{}\n", json.dump(2));
    return;
  }
  for (const std::string& path : written) {
    fmt::print("wrote {}\n", path);
  }
  if (!missing.empty()) {
    fmt::print("{}; --clients and --rounds show more\n", missing);
  }
}

}  // namespace

void add_preview_command(CLI::App& data) {
  CLI::App* command =
      data.add_subcommand("preview", "a picture sheet of what a scenario's clients hold, round by round");
  const auto arguments = std::make_shared<PreviewArguments>();
  const PreviewLimits defaults;
  add_config_options(*command, arguments->config);
  command->add_option("--out", arguments->png, "PNG file (default: <config stem>-preview.png)");
  command->add_option("--html", arguments->html, "the sheet, its ids and counts as one page");
  command->add_option("--clients", arguments->clients, "most clients to show, the first ones")
      ->check(CLI::Range(1, 100))
      ->option_text(fmt::format("N [{}]", defaults.clients));
  command
      ->add_option("--rounds", arguments->stages,
                   "most columns; rounds between two drifts share one, and the last is always shown")
      ->check(CLI::Range(1, 100))
      ->option_text(fmt::format("N [{}]", defaults.stages));
  command->add_option("--samples", arguments->samples, "samples in each cell")
      ->check(CLI::Range(0, 20))
      ->option_text(fmt::format("N [{}]", defaults.samples));
  command->add_flag("--force", arguments->force, "replace files that exist");
  add_format_option(*command, arguments->format);
  command->footer("Example:\n  feroma data preview configs/demo.toml --set scenario.seed=7 --out clients.png");
  command->callback([arguments] { preview_scenario(*arguments); });
}

}  // namespace feroma::cli
