#pragma once

#include "feroma/sweep/sweep.h"

namespace feroma::cli {

/// Shows how a sweep goes: a bar with the time left on a terminal, and one line per finished cell. Writes to stderr.
class SweepDisplay {
 public:
  SweepDisplay();

  /// Callbacks that borrow this object.
  [[nodiscard]] SweepObserver observer();
  /// Says, to whoever watches, why nothing moves yet.
  void estimating(std::size_t cells) const;
  /// Removes the bar, so that what is printed next starts on a clean line.
  void clear() const;

 private:
  void started(const WorkPlan& plan, const SweepProgress& progress) const;
  void draw(const SweepProgress& progress) const;
  void finished(const SweepCell& cell, const CellOutcome& outcome, const SweepProgress& progress) const;

  bool terminal_;
};

}  // namespace feroma::cli
