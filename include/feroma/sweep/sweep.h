#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feroma/runtime/run.h"
#include "feroma/sweep/folder.h"
#include "feroma/sweep/plan.h"

namespace feroma {

/// What one cell is expected to take.
struct CellEstimate {
  double seconds = 0;  ///< on one thread, training only
  std::int64_t memory_bytes = 0;
  std::string problem = {};         ///< why it cannot run, where that is known before; the figures are 0 then
  std::string not_applicable = {};  ///< why its algorithm has no meaning there: a result that takes no time
};

/// Estimates the cells one after the other; those that differ by the seed alone once. `stop` ends it early with
/// `interrupted`.
[[nodiscard]] std::vector<CellEstimate> estimate_cells(std::span<const SweepCell* const> cells,
                                                       SharedDatasets& datasets, const std::atomic<bool>& stop);

/// How cells with these estimates run on this machine; `jobs` and `threads` of 0 leave the choice to us.
[[nodiscard]] WorkPlan plan_cells(std::span<const CellEstimate> estimates, int jobs, int threads);

/// What became of a cell in this call.
struct CellOutcome {
  CellState state = CellState::pending;
  bool ran = false;    ///< in this call; otherwise it was done before, or its turn never came
  std::string reason;  ///< why it failed
  double seconds = 0;  ///< that it took in this call
  std::optional<ResultRecord> result;
};

/// How far a sweep is.
struct SweepProgress {
  std::size_t cells = 0;
  std::size_t done = 0;            ///< those of earlier calls included
  std::size_t not_applicable = 0;  ///< of those done, the ones whose algorithm has no meaning there
  std::size_t failed = 0;
  std::size_t running = 0;
  double share = 0;  ///< of the cells, those under way counted by their rounds
  std::optional<double> seconds_left;
};

/// What somebody watching a sweep wants to know; empty members are not called. Calls come one at a time, from any
/// thread.
struct SweepObserver {
  std::function<void(const WorkPlan&, const SweepProgress&)> started;
  std::function<void(const SweepProgress&)> progressed;  ///< a round of some cell is finished
  std::function<void(const SweepCell&, const CellOutcome&, const SweepProgress&)> finished;
  std::function<void(const std::string&)> results_behind;  ///< at the end: why `results.db` lacks what the cells have
};

struct SweepOptions {
  std::filesystem::path out;
  bool resume = false;  ///< go on with interrupted cells and try failed ones again; refused where there are any
  int jobs = 0;         ///< cells at once; 0 chooses
  int threads = 0;      ///< of each cell; 0 chooses
  SweepObserver observer = {};
};

/**
 * Runs every cell of the sweep that the folder does not have yet, several at once, and keeps `results.db` up to date;
 * where it cannot be written for a while there is a warning, and it is made anew at the end. A cell that fails is noted
 * with its reason and the others go on; one whose algorithm is not applicable is done, with that for its result. What
 * is left of a damaged cell is removed and the cell begun again. `stop` becoming true saves the cells under way and
 * returns; they are `interrupted` then. One outcome per cell, in order; results depend neither on jobs nor on threads.
 */
[[nodiscard]] std::vector<CellOutcome> run_sweep(const Sweep& sweep, const SweepOptions& options,
                                                 const std::atomic<bool>& stop);

}  // namespace feroma
