#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace feroma {

/// How many cells run at once, and with how many threads each.
struct WorkPlan {
  int jobs = 1;
  int threads = 1;

  friend bool operator==(const WorkPlan&, const WorkPlan&) = default;
};

/// What a user asks for and the machine has; 0 leaves a choice to us.
struct WorkWishes {
  int jobs = 0;
  int threads = 0;
  int cores = 1;
  std::int64_t cell_bytes = 0;  ///< the largest cell's memory
  std::int64_t free_bytes = 0;  ///< what all of them may take; 0 is not known
};

/// Several cells with one thread each where there are cells enough: whole runs share nothing and wait for nobody. Fewer
/// cells than cores, or cells too large to lie in memory together, get more threads each instead.
[[nodiscard]] WorkPlan plan_work(std::size_t cells, const WorkWishes& wishes);

/// Memory that the system could give to programs now; 0 where it does not say.
[[nodiscard]] std::int64_t free_memory();

/**
 * How long a sweep will still take. What cells were expected to take is corrected by what finished ones took: those of
 * the same algorithm if there are any, else all of them.
 */
class TimeLeft {
 public:
  struct Expected {
    std::string algorithm;
    std::optional<double> seconds;  ///< on the threads that a cell gets; absent where nobody could say
  };

  TimeLeft(std::vector<Expected> cells, int jobs);

  /// A cell has done this share of its work, 0 to 1.
  void progressed(std::size_t cell, double share);
  /// A cell took so long from its beginning; `share` of its work was done in it.
  void finished(std::size_t cell, double seconds, double share = 1);
  /// A cell ended without a result: nothing is learned from it.
  void dropped(std::size_t cell);
  /// Absent where no cell that is left has an expectation and none has finished.
  [[nodiscard]] std::optional<double> seconds() const;

 private:
  struct Sums {
    double expected = 0;
    double measured = 0;
  };
  [[nodiscard]] std::optional<double> expected(const Expected& cell) const;

  std::vector<Expected> cells_;
  std::vector<double> shares_;
  int jobs_;
  std::map<std::string, Sums> of_algorithm_;
  Sums all_;
  double mean_ = 0;  ///< of measured cells
  int measured_ = 0;
};

}  // namespace feroma
