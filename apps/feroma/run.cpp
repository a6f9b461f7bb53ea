#include "feroma/runtime/run.h"

#include <fmt/core.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "commands.h"
#include "config.h"
#include "feroma/core/config_identity.h"
#include "feroma/core/options.h"
#include "feroma/core/settings.h"
#include "feroma/core/simd.h"
#include "feroma/report/console.h"
#include "feroma/report/summary.h"
#include "feroma/runtime/run_directory.h"
#include "interrupt.h"
#include "progress.h"

namespace feroma::cli {
namespace {

struct RunArguments {
  ConfigArguments config;
  std::string out;
  bool resume = false;
  bool overwrite = false;
  bool dry_run = false;
  int threads = 0;
  std::string simd;
  Format format = Format::text;
};

/// When test accuracy is measured, and what that costs.
std::string tests_text(const RunEstimate& e) {
  if (e.test_every == 0) {
    return "only in the end (evaluation.every = 0)";
  }
  if (e.test_every >= e.rounds) {
    return "after the last round, which costs nothing more";
  }
  return fmt::format(
      "{}, about {:.1f} % of the computation (evaluation.every)",
      e.test_every == 1 ? "after every round" : fmt::format("every {} rounds and after the last", e.test_every),
      100 * e.test_share);
}

void print_estimate(const RunEstimate& e, std::size_t algorithms, int threads, Format format) {
  if (format == Format::json) {
    nlohmann::ordered_json json{{"clients", e.clients},
                                {"rounds", e.rounds},
                                {"extra_rounds", e.extra_rounds},
                                {"distributions", e.distributions},
                                {"realised_changes", e.realised_changes},
                                {"samples_per_client_round", e.samples_per_client_round},
                                {"steps", e.steps},
                                {"parameters", e.parameters},
                                {"memory_bytes", e.memory_bytes},
                                {"algorithms", algorithms},
                                {"threads", threads},
                                {"test_every", e.test_every},
                                {"test_share", e.test_share},
                                {"seconds", e.seconds}};
    json["adapted"] = nlohmann::ordered_json::array();
    for (const AdaptedDefault& one : e.adapted) {
      json["adapted"].push_back(one.text());
    }
    fmt::print("{}\n", json.dump(2));
    return;
  }
  fmt::print("clients            {}\nrounds             {}\n", e.clients, e.rounds);
  if (e.extra_rounds > 0) {
    fmt::print("extra rounds       {} after those, over all algorithms\n", e.extra_rounds);
  }
  fmt::print("distributions      {} ({} changes over all clients)\n", e.distributions, e.realised_changes);
  fmt::print("training samples   {} per client and round\n", e.samples_per_client_round);
  fmt::print("SGD steps          {} per algorithm, {} algorithms\n", e.steps, algorithms);
  fmt::print("model              {} parameters\n", e.parameters);
  fmt::print("memory             about {:.0f} MB\n", static_cast<double>(e.memory_bytes) / 1e6);
  fmt::print("training time      about {:.0f} s on {} threads\n", e.seconds, threads);
  fmt::print("test accuracy      {}\n", tests_text(e));
  for (const AdaptedDefault& one : e.adapted) {
    fmt::print("default            {}\n", one.text());
  }
}

bool is_unfinished_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / "config.toml", ignored) &&
         std::filesystem::exists(folder / "manifest.json", ignored) &&
         !std::filesystem::exists(folder / "summary.json", ignored);
}

void run(const RunArguments& arguments) {
  Settings settings = load_config(arguments.config);
  if (!arguments.simd.empty()) {
    settings["training.simd"] = {arguments.simd, "--simd"};
  }
  const std::filesystem::path out =
      arguments.out.empty() ? std::filesystem::path("runs") / std::filesystem::path(arguments.config.file).stem()
                            : std::filesystem::path(arguments.out);
  if (const std::filesystem::path begun = out / "config.toml"; arguments.resume && std::filesystem::exists(begun)) {
    settings = config_identity().going_on(std::move(settings), load_settings(begun));
  }
  const Experiment experiment = read_experiment(settings);
  const int threads =
      arguments.threads > 0 ? arguments.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (arguments.dry_run) {
    check_run_folder(out);
    print_estimate(estimate_run(experiment, threads), experiment.algorithms.size(), threads, arguments.format);
    return;
  }
  std::vector<std::string> labels;
  for (const AlgorithmPlan& plan : experiment.algorithms) {
    labels.push_back(plan.label);
  }
  Progress progress(std::move(labels));
  RunOptions options;
  options.out = out;
  options.existing =
      arguments.resume ? Existing::resume : (arguments.overwrite ? Existing::overwrite : Existing::refuse);
  options.threads = threads;
  options.keep_failed = true;
  options.observer = progress.observer();
  const std::atomic<bool>& stop = stop_on_interrupt();
  std::vector<ResultRecord> results;
  try {
    results = run_experiment(experiment, options, stop);
  } catch (const Error& error) {
    progress.clear();
    if (error.code() == ErrorCode::interrupted) {
      // The stored config has every --set in it.
      fail(ErrorCode::interrupted, "interrupted; go on with: feroma run {0}/config.toml --out {0} --resume",
           options.out.string());
    }
    // A full disk, for example: what was committed before is still there.
    if (error.code() == ErrorCode::io && is_unfinished_run(options.out)) {
      fail(ErrorCode::io, "{1}\nwhen that is mended, go on with: feroma run {0}/config.toml --out {0} --resume",
           options.out.string(), error.what());
    }
    throw;
  }
  progress.clear();
  if (arguments.format == Format::json) {
    fmt::print("{}\n", summary_json({scenario_of(load_settings(options.out / "config.toml")), results}));
  } else {
    fmt::print("{}\n{}\nreport: {}\n", results_table(results), results_notes(results),
               (options.out / "report.html").string());
  }
  std::string failed;
  for (const ResultRecord& result : results) {
    if (result.failed) {
      failed += fmt::format("{}{} failed {}", failed.empty() ? "" : "\n", result.label, *result.failed);
    }
  }
  require(failed.empty(), ErrorCode::invalid_data, "{}", failed);
}

std::string known_simd(const std::string& name) {
  bool known = name == name_of(SimdTarget::automatic);
  for (const SimdTarget target : simd_targets()) {
    known = known || name == name_of(target);
  }
  if (!known) {
    throw CLI::ValidationError(
        "--simd", fmt::format("must be auto or one of what this machine has ({}), got {}", simd_target_names(), name));
  }
  return name;
}

}  // namespace

void add_run_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("run", "Run one scenario with one or more algorithms");
  auto arguments = std::make_shared<RunArguments>();
  add_config_options(*command, arguments->config);
  command->add_option("--out", arguments->out, "Run directory (default: runs/<config stem>)");
  CLI::Option* resume = command->add_flag("--resume", arguments->resume, "Go on with an interrupted run");
  command->add_flag("--overwrite", arguments->overwrite, "Replace an existing run")->excludes(resume);
  command->add_option("--threads", arguments->threads, "Worker threads (default: one per core)")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option_function<std::string>(
          "--simd", [arguments](const std::string& name) { arguments->simd = known_simd(name); },
          "Instruction set of the kernels; this machine has " + simd_target_names())
      ->option_text("TARGET [auto]");
  command->add_flag("--dry-run", arguments->dry_run, "Print clients, samples, steps, memory and time; run nothing");
  add_format_option(*command, arguments->format);
  command->footer("Example:\n  feroma run configs/demo.toml --set scenario.seed=7 --out runs/seed7");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace feroma::cli
