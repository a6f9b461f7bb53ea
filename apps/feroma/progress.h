#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "feroma/runtime/run.h"

namespace feroma::cli {

/// A length of time as people read it: "3:07", "2h05m".
[[nodiscard]] std::string duration(double seconds);
/// A bar of fixed width of which this share, 0 to 1, is filled.
[[nodiscard]] std::string bar_of(double share);

/// Shows how a run goes: a bar with rate and time left on a terminal, one line per round elsewhere. Writes to stderr.
class Progress {
 public:
  /// `labels` are those of the run's algorithms, in order.
  explicit Progress(std::vector<std::string> labels);

  /// Callbacks that borrow this object.
  [[nodiscard]] RunObserver observer();
  /// Removes the bar, so that what is printed next starts on a clean line.
  void clear() const;

 private:
  void started(const std::string& label, int finished, int rounds);
  void round_finished(const RoundRecord& record, int rounds);
  void draw(const RoundRecord& record, int rounds) const;
  /// The last test accuracy or, where no round was tested, how accurate clients were with what they were given.
  void remember_accuracy(const RoundRecord& record);

  std::vector<std::string> labels_;
  std::ptrdiff_t index_ = 0;
  int first_round_ = 0;
  std::string accuracy_;
  bool tested_ = false;
  bool terminal_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace feroma::cli
