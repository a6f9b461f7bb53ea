#include "feroma/sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checks.h"
#include "commands.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/core/options.h"
#include "feroma/sweep/folder.h"
#include "interrupt.h"
#include "log_output.h"
#include "progress.h"
#include "sweep_display.h"

namespace feroma::cli {
namespace {

struct SweepArguments {
  std::string file;
  SweepChanges changes;
  std::string out;
  bool resume = false;
  bool dry_run = false;
  int jobs = 0;
  int threads = 0;
  Format format = Format::text;

  [[nodiscard]] std::filesystem::path folder() const {
    return out.empty() ? std::filesystem::path("runs") / std::filesystem::path(file).stem()
                       : std::filesystem::path(out);
  }
};

nlohmann::ordered_json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
}

nlohmann::ordered_json cell_json(const SweepCell& cell, CellState state, const std::string& reason,
                                 const std::string& not_applicable) {
  const ScenarioOptions& scenario = cell.experiment.scenario;
  nlohmann::ordered_json json{{"cell", cell.key},
                              {"point", cell.point},
                              {"dataset", scenario.dataset},
                              {"shift", name_of(scenario.shift)},
                              {"level", name_of(scenario.level)},
                              {"drifts", scenario.drifts},
                              {"clients", scenario.clients},
                              {"rounds", scenario.rounds},
                              {"seed", scenario.seed},
                              {"label", cell.algorithm().label},
                              {"status", name_of(state)}};
  json["reason"] = text_or_null(reason);
  json["not_applicable"] = text_or_null(not_applicable);
  return json;
}

/// As text; paths and reasons may have bytes that are no UTF-8.
std::string printable_json(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// The cell's line of a table; what follows it is up to the caller.
std::string cell_line(const SweepCell& cell, CellState state) {
  return fmt::format("{}  {:<11}  {}  [{}]", cell.key, name_of(state), describe(cell), cell.point);
}

/// What `--dry-run` knows of a sweep.
struct Forecast {
  std::vector<CellRecord> records;
  std::vector<CellEstimate> estimates;  ///< of cells that are not done; others are empty
  std::size_t done = 0;
  WorkPlan plan;
  double seconds = 0;

  /// Why a cell's algorithm has no meaning there, as its result has it or will have it; empty where it has one.
  [[nodiscard]] std::string not_applicable(std::size_t cell) const {
    return records[cell].state == CellState::done ? why_not_applicable(records[cell].result)
                                                  : estimates[cell].not_applicable;
  }
};

Forecast forecast(const Sweep& sweep, const SweepArguments& arguments, const std::atomic<bool>& stop) {
  Forecast out;
  std::vector<const SweepCell*> todo;
  for (const SweepCell& cell : sweep.cells) {
    out.records.push_back(look_at_cell(arguments.folder(), cell));
    if (out.records.back().state == CellState::done) {
      ++out.done;
    } else {
      todo.push_back(&cell);
    }
  }
  SharedDatasets datasets;
  const std::vector<CellEstimate> estimates = estimate_cells(todo, datasets, stop);
  out.plan = plan_cells(estimates, arguments.jobs, arguments.threads);
  std::vector<TimeLeft::Expected> expected;
  std::size_t next = 0;
  for (const CellRecord& record : out.records) {
    out.estimates.push_back(record.state == CellState::done ? CellEstimate{} : estimates[next++]);
    expected.push_back({"", out.estimates.back().seconds / out.plan.threads});
  }
  out.seconds = TimeLeft(std::move(expected), out.plan.jobs).seconds().value_or(0);
  return out;
}

void print_forecast(const Sweep& sweep, const Forecast& known, const SweepArguments& arguments) {
  if (arguments.format == Format::json) {
    nlohmann::ordered_json json{{"sweep", sweep.name},
                                {"out", arguments.folder().string()},
                                {"cells", nlohmann::ordered_json::array()},
                                {"done", known.done},
                                {"jobs", known.plan.jobs},
                                {"threads", known.plan.threads},
                                {"seconds", known.seconds}};
    for (std::size_t i = 0; i < sweep.cells.size(); ++i) {
      const CellEstimate& estimate = known.estimates[i];
      nlohmann::ordered_json cell = cell_json(
          sweep.cells[i], known.records[i].state,
          known.records[i].reason.empty() ? estimate.problem : known.records[i].reason, known.not_applicable(i));
      cell["seconds"] = estimate.problem.empty() ? nlohmann::ordered_json(estimate.seconds / known.plan.threads)
                                                 : nlohmann::ordered_json(nullptr);
      json["cells"].push_back(std::move(cell));
    }
    fmt::print("{}\n", printable_json(json));
    return;
  }
  std::size_t impossible = 0;
  std::size_t without_meaning = 0;
  for (std::size_t i = 0; i < sweep.cells.size(); ++i) {
    const CellEstimate& estimate = known.estimates[i];
    const std::string reason = known.not_applicable(i);
    impossible += estimate.problem.empty() ? 0U : 1U;
    without_meaning += reason.empty() ? 0U : 1U;
    const std::string time =
        estimate.seconds > 0 ? fmt::format("  {:.1f} s", estimate.seconds / known.plan.threads) : "";
    fmt::print("{}{}{}{}\n", cell_line(sweep.cells[i], known.records[i].state), time,
               estimate.problem.empty() ? "" : "  cannot run: " + estimate.problem,
               reason.empty() ? "" : "  not applicable: " + reason);
  }
  fmt::print("\n{} cells, {} done, {} to run{}{}; {} at once with {} thread{} each\n", sweep.cells.size(), known.done,
             sweep.cells.size() - known.done, impossible > 0 ? fmt::format(", {} of them cannot", impossible) : "",
             without_meaning > 0 ? fmt::format(", {} not applicable", without_meaning) : "", known.plan.jobs,
             known.plan.threads, known.plan.threads == 1 ? "" : "s");
  fmt::print("training time about {}; evaluation and data come on top\n", duration(known.seconds));
}

/// What a cell's line ends with: its figure, or why it has none.
std::string ending_of(const CellOutcome& outcome) {
  if (const std::string reason = why_not_applicable(outcome.result); !reason.empty()) {
    return "  not applicable: " + reason;
  }
  if (outcome.result) {
    return fmt::format("  {:.2f}", outcome.result->accuracy);
  }
  return outcome.reason.empty() ? "" : "  " + outcome.reason;
}

void print_outcomes(const Sweep& sweep, const std::vector<CellOutcome>& outcomes, const SweepArguments& arguments) {
  if (arguments.format == Format::json) {
    nlohmann::ordered_json json{
        {"sweep", sweep.name}, {"out", arguments.folder().string()}, {"cells", nlohmann::ordered_json::array()}};
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      nlohmann::ordered_json cell =
          cell_json(sweep.cells[i], outcomes[i].state, outcomes[i].reason, why_not_applicable(outcomes[i].result));
      cell["ran"] = outcomes[i].ran;
      cell["accuracy"] = nullptr;
      if (outcomes[i].result && std::isfinite(outcomes[i].result->accuracy)) {
        cell["accuracy"] = outcomes[i].result->accuracy;
      }
      cell["folder"] = cell_folder(arguments.folder(), sweep.cells[i].key).string();
      json["cells"].push_back(std::move(cell));
    }
    fmt::print("{}\n", printable_json(json));
    return;
  }
  std::size_t without_meaning = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    without_meaning += why_not_applicable(outcomes[i].result).empty() ? 0U : 1U;
    fmt::print("{}{}\n", cell_line(sweep.cells[i], outcomes[i].state), ending_of(outcomes[i]));
  }
  fmt::print(
      "\n{}results: {}\n",
      without_meaning > 0 ? fmt::format("{} of {} cells not applicable\n", without_meaning, outcomes.size()) : "",
      (arguments.folder() / "results.db").string());
}

void sweep(const SweepArguments& arguments) {
  log_warnings_only();
  const Sweep sweep = with_finished_elsewhere(read_sweep(arguments.file, arguments.changes), arguments.folder());
  const std::atomic<bool>& stop = stop_on_interrupt();
  if (arguments.dry_run) {
    check_sweep_folder(arguments.folder());
    print_forecast(sweep, forecast(sweep, arguments, stop), arguments);
    return;
  }
  SweepDisplay display;
  SweepOptions options;
  options.out = arguments.folder();
  options.resume = arguments.resume;
  options.jobs = arguments.jobs;
  options.threads = arguments.threads;
  options.observer = display.observer();
  std::string behind;
  options.observer.results_behind = [&behind](const std::string& why) { behind = why; };
  display.estimating(sweep.cells.size());
  const std::vector<CellOutcome> outcomes = run_sweep(sweep, options, stop);
  display.clear();
  print_outcomes(sweep, outcomes, arguments);
  if (!behind.empty()) {  // no failure: it is made of the cells, and they are there
    log::warning("{}; it is not up to date, but the cells are: the next sweep in the folder makes it anew", behind);
  }
  std::size_t done = 0;
  std::size_t failed = 0;
  for (const CellOutcome& outcome : outcomes) {
    done += outcome.state == CellState::done ? 1U : 0U;
    failed += outcome.state == CellState::failed ? 1U : 0U;
  }
  require(done + failed == outcomes.size(), ErrorCode::interrupted,
          "interrupted with {} of {} cells done; go on with the same command and --resume", done, outcomes.size());
  require(failed == 0, ErrorCode::invalid_data, "{} of {} cells failed; the reasons are above and in {}", failed,
          outcomes.size(), (options.out / "results.db").string());
}

}  // namespace

void add_sweep_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("sweep", "Run a grid of scenarios, algorithms and seeds, each cell once");
  auto arguments = std::make_shared<SweepArguments>();
  command->add_option("SWEEP", arguments->file, "Sweep file (docs/sweeps.md)")->required();
  command->add_option("--seeds", arguments->changes.seeds, "Seeds instead of the file's, e.g. --seeds 42,43")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(must_be_whole);
  command
      ->add_option("--algorithms", arguments->changes.algorithms,
                   "Labels instead of the file's, e.g. --algorithms feroma-auto,fedavg; all for every one")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option("--set", arguments->changes.overrides,
                   "Override a key in every cell, e.g. --set scenario.rounds=5 (repeatable); seeds are for --seeds")
      ->allow_extra_args(false);
  command->add_option("--out", arguments->out, "Folder of the cells, shared by any sweeps (default: runs/<file stem>)");
  command->add_flag("--resume", arguments->resume, "Go on with interrupted cells and try failed ones again");
  command->add_option("--jobs", arguments->jobs, "Cells at once (default: one per core)")->check(CLI::Range(1, 1024));
  command->add_option("--threads", arguments->threads, "Threads of each cell (default: the cores divided by the jobs)")
      ->check(CLI::Range(1, 1024));
  command->add_flag("--dry-run", arguments->dry_run, "Print the cells, which are done, and the time; run nothing");
  add_format_option(*command, arguments->format);
  command->footer("Example:\n  feroma sweep configs/paper/sweeps/main_table_2.toml --out runs/paper --dry-run");
  command->callback([arguments] { sweep(*arguments); });
}

}  // namespace feroma::cli
