#include "feroma/sweep/sweep.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "feroma/core/config_identity.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"
#include "feroma/runtime/fitted_run.h"
#include "feroma/sweep/results.h"

namespace feroma {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// How long a database that could not be written is left alone: every attempt may wait for whoever has locked it.
constexpr std::chrono::minutes kPause{1};

/// Why nothing of the run in a cell's folder can be used for the cell; absent where it can, or where there is no run.
std::optional<std::string> damage_of(const fs::path& folder, const SweepCell& cell) {
  std::optional<std::string> damage = damage_of_run(folder);
  if (!damage && run_times(folder) && cell_hash(config_as_asked(folder)) != cell.hash) {
    damage = fmt::format("{}: must be the config of cell {}, and it is another", (folder / "config.toml").string(),
                         cell.key);
  }
  return damage;
}

/// Goes on with a run that is there. One that was begun with its data elsewhere starts anew: a checkpoint holds for the
/// very config. So does a damaged one, but not where somebody else's things lie with it: nobody asked to remove those.
Existing how_to_begin(const fs::path& folder, const SweepCell& cell) {
  if (const std::optional<std::string> damage = damage_of(folder, cell)) {
    const std::optional<std::string> foreign = foreign_file(folder);
    require(!foreign, ErrorCode::invalid_data,
            "{}: must hold nothing but a run to be begun again, and it holds {}; it is damaged: {}", folder.string(),
            foreign.value_or(""), *damage);
    log::warning("begun again: {}", *damage);
    return Existing::overwrite;
  }
  if (!run_times(folder)) {
    return Existing::refuse;
  }
  const Settings begun = config_as_asked(folder);
  const Settings now = as_begun(cell.experiment, begun).resolved();
  return config_identity().changes(begun, now).empty() ? Existing::resume : Existing::overwrite;
}

/// What a cell takes on the threads that it gets; absent where nobody could say.
std::optional<double> expected_seconds(const CellEstimate& estimate, int threads) {
  if (!estimate.not_applicable.empty()) {
    return 0.0;
  }
  return estimate.problem.empty() && estimate.seconds > 0 ? std::optional(estimate.seconds / threads) : std::nullopt;
}

/// The cells of one call: who is under way, what is done, what is known of the rest.
class Work {
 public:
  Work(const Sweep& sweep, const SweepOptions& options, const std::atomic<bool>& stop)
      : sweep_(sweep), options_(options), stop_(stop), folder_(options.out), db_(options.out / "results.db") {}

  std::vector<CellOutcome> operator()() {
    look();
    folder_.remember(sweep_);
    make_database_anew();
    prepare();
    if (options_.observer.started) {
      options_.observer.started(plan_, progress());
    }
    for (const std::vector<std::size_t>& group : groups()) {
      run_group(group);
    }
    catch_up();
    return std::move(outcomes_);
  }

 private:
  /// Finds what the folder has already, and refuses to touch unfinished cells that nobody asked to go on with.
  void look() {
    std::size_t unfinished = 0;
    for (const SweepCell& cell : sweep_.cells) {
      CellOutcome& outcome = outcomes_.emplace_back();
      CellRecord record = look_at_cell(options_.out, cell);
      outcome.state = record.state;
      outcome.reason = std::move(record.reason);
      outcome.result = std::move(record.result);
      unfinished += outcome.state == CellState::interrupted || outcome.state == CellState::failed ? 1 : 0;
      if (outcome.state != CellState::done) {
        todo_.push_back(outcomes_.size() - 1);
      }
    }
    require(options_.resume || unfinished == 0, ErrorCode::invalid_config,
            "--out {}: {} of the {} cells were interrupted or failed there; use --resume to go on with them",
            options_.out.string(), unfinished, sweep_.cells.size());
  }

  /// Estimates what is to do, and decides how.
  void prepare() {
    std::vector<const SweepCell*> cells;
    for (const std::size_t index : todo_) {
      cells.push_back(&sweep_.cells[index]);
    }
    std::vector<CellEstimate> estimates;
    try {
      estimates = estimate_cells(cells, datasets_, stop_);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::interrupted) {
        throw;
      }
      estimates.resize(cells.size());  // nothing will run, so nothing need be known
    }
    plan_ = plan_cells(estimates, options_.jobs, options_.threads);
    std::vector<TimeLeft::Expected> expected;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      expected.push_back({cells[i]->algorithm().name, expected_seconds(estimates[i], plan_.threads)});
    }
    time_.emplace(std::move(expected), plan_.jobs);
    shares_.assign(todo_.size(), 0);
  }

  /// Kernels of two instruction sets cannot be at work at once, so cells of one come before those of the next. Members
  /// are places in todo_.
  [[nodiscard]] std::vector<std::vector<std::size_t>> groups() const {
    std::vector<std::pair<SimdTarget, std::vector<std::size_t>>> found;
    for (std::size_t place = 0; place < todo_.size(); ++place) {
      const SimdTarget target = sweep_.cells[todo_[place]].experiment.simd();
      auto group = std::find_if(found.begin(), found.end(), [&](const auto& g) { return g.first == target; });
      if (group == found.end()) {
        group = found.insert(found.end(), {target, {}});
      }
      group->second.push_back(place);
    }
    std::vector<std::vector<std::size_t>> out;
    for (auto& [target, places] : found) {
      out.push_back(std::move(places));
    }
    return out;
  }

  void run_group(const std::vector<std::size_t>& places) {
    std::atomic<std::size_t> next = 0;
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < plan_.jobs; ++i) {
        workers.emplace_back([&] {
          for (std::size_t at = next++; at < places.size() && !stop_.load() && !broken(); at = next++) {
            run_one(places[at]);
          }
        });
      }
    }
    if (failure_) {
      std::rethrow_exception(failure_);
    }
  }

  [[nodiscard]] bool broken() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

  /// A cell that fails is an outcome; a folder that cannot be written ends the sweep.
  void run_one(std::size_t place) {
    try {
      {
        const std::lock_guard lock(mutex_);
        ++running_;
      }
      const CellOutcome outcome = run_cell(place);
      const std::lock_guard lock(mutex_);
      --running_;
      record(place, outcome);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = failure_ ? failure_ : std::current_exception();
    }
  }

  [[nodiscard]] CellOutcome run_cell(std::size_t place) {
    const SweepCell& cell = sweep_.cells[todo_[place]];
    CellOutcome outcome;
    outcome.ran = true;
    const auto start = Clock::now();
    try {
      RunOptions run;
      run.out = cell_folder(options_.out, cell.key);
      run.existing = how_to_begin(run.out, cell);
      run.threads = plan_.threads;
      run.datasets = &datasets_;
      run.keep_not_applicable = true;  // a cell has one algorithm, so that is all that it can tell
      run.observer.started = [&](const std::string&, int finished, int rounds) {
        moved(place, finished, rounds, true);
      };
      run.observer.round_finished = [&](const RoundRecord& record, int rounds) {
        moved(place, record.round, rounds, false);
      };
      outcome.result = run_experiment(cell.experiment, run, stop_).front();
      outcome.state = CellState::done;
    } catch (const Error& error) {
      outcome.state = error.code() == ErrorCode::interrupted ? CellState::interrupted : CellState::failed;
      outcome.reason = outcome.state == CellState::failed ? error.what() : "";
    } catch (const std::exception& error) {
      outcome.state = CellState::failed;
      outcome.reason = error.what();
    }
    outcome.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return outcome;
  }

  void moved(std::size_t place, int round, int rounds, bool start) {
    const std::lock_guard lock(mutex_);
    const double share = rounds > 0 ? static_cast<double>(round) / rounds : 0;
    shares_[place] = share;
    if (start) {
      first_shares_[place] = share;
    }
    time_->progressed(place, share);
    if (options_.observer.progressed) {
      options_.observer.progressed(progress());
    }
  }

  /// Notes what became of a cell; the caller holds the lock.
  void record(std::size_t place, const CellOutcome& outcome) {
    const std::size_t index = todo_[place];
    const SweepCell& cell = sweep_.cells[index];
    outcomes_[index] = outcome;
    if (outcome.state == CellState::failed) {
      folder_.note_failure(cell, outcome.reason);
    } else {
      folder_.forget_failure(cell.key);
    }
    if (outcome.state == CellState::done && why_not_applicable(outcome.result).empty()) {
      time_->finished(place, outcome.seconds, 1 - first_shares_[place]);
    } else if (outcome.state != CellState::interrupted) {
      time_->dropped(place);
    }
    shares_[place] = outcome.state == CellState::interrupted ? shares_[place] : 1;
    // Of a failed cell the folder may be what failed, so nothing is read from it.
    const CellRecord kept = outcome.state == CellState::failed
                                ? CellRecord{cell.key, outcome.state, outcome.reason, cell.experiment.resolved()}
                                : read_cell(options_.out, cell.key);
    if (kept.state != CellState::pending) {
      write_database([&] { db_.update(kept); });
    }
    if (options_.observer.finished) {
      options_.observer.finished(cell, outcome, progress());
    }
  }

  /// Writes to the database. It holds nothing that the cells do not, so trouble with it, such as somebody who has
  /// locked it, ends no sweep: what it misses comes to it in the end. While workers are there the caller holds the
  /// lock.
  template <class Action>
  void write_database(Action action) {
    if (Clock::now() < next_write_) {
      return;
    }
    try {
      action();
    } catch (const Error& error) {
      behind_ = error.what();
      next_write_ = Clock::now() + kPause;
      if (warned_.insert(behind_).second) {
        log::warning("{}; until it can be written it lacks what the cells have", behind_);
      }
    }
  }

  void make_database_anew() {
    const std::vector<CellRecord> cells = read_cells(options_.out);
    const std::vector<SweepList> lists = read_sweep_lists(options_.out);
    write_database([&] { db_.rebuild(cells, lists); });
  }

  /// Gives the database what it missed; the workers are gone.
  void catch_up() {
    if (behind_.empty()) {
      return;
    }
    behind_.clear();
    next_write_ = {};
    make_database_anew();
    if (!behind_.empty() && options_.observer.results_behind) {
      options_.observer.results_behind(behind_);
    }
  }

  [[nodiscard]] SweepProgress progress() const {
    SweepProgress now;
    now.cells = sweep_.cells.size();
    now.running = running_;
    double share = static_cast<double>(now.cells - todo_.size());
    for (const double one : shares_) {
      share += one;
    }
    now.share = share / static_cast<double>(now.cells);
    for (const CellOutcome& outcome : outcomes_) {
      now.done += outcome.state == CellState::done ? 1 : 0;
      now.not_applicable += why_not_applicable(outcome.result).empty() ? 0U : 1U;
      now.failed += outcome.state == CellState::failed && outcome.ran ? 1 : 0;
    }
    now.seconds_left = time_->seconds();
    return now;
  }

  const Sweep& sweep_;
  const SweepOptions& options_;
  const std::atomic<bool>& stop_;
  SweepFolder folder_;
  ResultsDb db_;
  SharedDatasets datasets_;
  std::vector<CellOutcome> outcomes_;
  std::vector<std::size_t> todo_;  ///< cells that are not done
  WorkPlan plan_;

  std::mutex mutex_;  ///< guards everything below, and outcomes_, folder_ and db_ while workers are there
  std::optional<TimeLeft> time_;
  std::vector<double> shares_;  ///< by place in todo_
  std::map<std::size_t, double> first_shares_;
  std::size_t running_ = 0;
  std::exception_ptr failure_;
  std::string behind_;              ///< why the database lacks something; empty while it does not
  std::set<std::string> warned_;    ///< what was said of the database already
  Clock::time_point next_write_{};  ///< when the database may be tried again
};

/// What an estimate depends on: everything but the seed.
std::string kind_of(const SweepCell& cell) {
  Settings settings = cell.experiment.resolved();
  settings.erase("scenario.seed");
  return to_toml(settings);
}

/// Why a cell's algorithm has no meaning there; empty where it has one, or where it cannot even be asked.
std::string refusal_of_algorithm(const Experiment& experiment, SharedDatasets& datasets) {
  try {
    const FittedRun fitted = fit_to_data(experiment, &datasets);
    const Federation& federation = *fitted.federation;
    const ModelSpec model = fitted.experiment.model(federation.shape(), federation.classes());
    return check_each_algorithm(fitted.experiment, model, federation.multi_label()).front().not_applicable.value_or("");
  } catch (const Error&) {
    return "";  // something else is in the way, and the caller has its message
  }
}

CellEstimate estimate_cell(const SweepCell& cell, SharedDatasets& datasets, StepTimes& step_times) {
  try {
    const RunEstimate estimate = estimate_run(cell.experiment, /*threads=*/1, &datasets, &step_times);
    return {estimate.seconds, estimate.memory_bytes};
  } catch (const Error& error) {
    // That the algorithm has no meaning there is a result; whatever else is unsupported keeps the cell from one.
    const std::string reason =
        error.code() == ErrorCode::unsupported ? refusal_of_algorithm(cell.experiment, datasets) : "";
    return {.problem = reason.empty() ? error.what() : "", .not_applicable = reason};
  }
}

}  // namespace

std::vector<CellEstimate> estimate_cells(std::span<const SweepCell* const> cells, SharedDatasets& datasets,
                                         const std::atomic<bool>& stop) {
  std::map<std::string, CellEstimate> known;
  StepTimes step_times;
  std::vector<CellEstimate> estimates;
  for (const SweepCell* cell : cells) {
    require(!stop.load(), ErrorCode::interrupted, "interrupted");
    const auto [found, is_new] = known.try_emplace(kind_of(*cell));
    if (is_new) {
      found->second = estimate_cell(*cell, datasets, step_times);
    }
    estimates.push_back(found->second);
  }
  return estimates;
}

WorkPlan plan_cells(std::span<const CellEstimate> estimates, int jobs, int threads) {
  WorkWishes wishes{jobs, threads, static_cast<int>(std::thread::hardware_concurrency()), 0, free_memory()};
  for (const CellEstimate& estimate : estimates) {
    wishes.cell_bytes = std::max(wishes.cell_bytes, estimate.memory_bytes);
  }
  return plan_work(estimates.size(), wishes);
}

std::vector<CellOutcome> run_sweep(const Sweep& sweep, const SweepOptions& options, const std::atomic<bool>& stop) {
  return Work(sweep, options, stop)();
}

}  // namespace feroma
