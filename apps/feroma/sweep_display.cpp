#include "sweep_display.h"

#include <fmt/core.h>

#include "progress.h"
#include "terminal.h"

namespace feroma::cli {
namespace {

std::string left(const SweepProgress& progress) {
  return progress.seconds_left ? fmt::format("about {} left", duration(*progress.seconds_left)) : "time left unknown";
}

/// How many of the cells that are done have no figures; nothing where all have some.
std::string without_figures(const SweepProgress& progress) {
  return progress.not_applicable > 0 ? fmt::format(" ({} not applicable)", progress.not_applicable) : "";
}

/// What a cell came to, in one line.
std::string outcome_text(const CellOutcome& outcome) {
  const std::string reason = why_not_applicable(outcome.result);
  if (!reason.empty()) {
    return "not applicable: " + reason;
  }
  switch (outcome.state) {
    case CellState::done:
      return fmt::format("{} {:.2f}, {:.1f} s", outcome.result->metric, outcome.result->accuracy, outcome.seconds);
    case CellState::failed: return red("failed", stderr) + ": " + outcome.reason;
    case CellState::interrupted: return "interrupted, saved";
    case CellState::pending: return "not begun";
  }
  unreachable();
}

}  // namespace

SweepDisplay::SweepDisplay() : terminal_(is_terminal(stderr)) {}

SweepObserver SweepDisplay::observer() {
  SweepObserver observer;
  observer.started = [this](const WorkPlan& plan, const SweepProgress& progress) { started(plan, progress); };
  observer.progressed = [this](const SweepProgress& progress) { draw(progress); };
  observer.finished = [this](const SweepCell& cell, const CellOutcome& outcome, const SweepProgress& progress) {
    finished(cell, outcome, progress);
  };
  return observer;
}

void SweepDisplay::estimating(std::size_t cells) const {
  if (terminal_) {
    fmt::print(stderr, "{} cells: seeing what is there and how long the rest takes", cells);
    std::fflush(stderr);
  }
}

void SweepDisplay::started(const WorkPlan& plan, const SweepProgress& progress) const {
  clear();
  fmt::print(stderr, "{} cells, {} done already{}; {} at once with {} thread{} each; {}\n", progress.cells,
             progress.done, without_figures(progress), plan.jobs, plan.threads, plan.threads == 1 ? "" : "s",
             left(progress));
}

void SweepDisplay::draw(const SweepProgress& progress) const {
  if (!terminal_) {
    return;
  }
  fmt::print(stderr, "\r\033[K[{}] {}/{} cells{}, {} running{}, {}", bar_of(progress.share), progress.done,
             progress.cells, without_figures(progress), progress.running,
             progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "", left(progress));
  std::fflush(stderr);
}

void SweepDisplay::finished(const SweepCell& cell, const CellOutcome& outcome, const SweepProgress& progress) const {
  clear();
  fmt::print(stderr, "{}/{} {} {}: {}; {}\n", progress.done + progress.failed, progress.cells, cell.key, describe(cell),
             outcome_text(outcome), left(progress));
  draw(progress);
}

void SweepDisplay::clear() const {
  if (terminal_) {
    fmt::print(stderr, "\r\033[K");
  }
}

}  // namespace feroma::cli
