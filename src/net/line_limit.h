#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "feroma/core/clock.h"

namespace feroma::net {

/// Keeps the log readable where others decide how much there is to write: of each name so many lines a second are
/// written, and the rest is counted. Names are few, chosen by us. All calls may come from any thread.
class LineLimit {
 public:
  explicit LineLimit(const Clock& clock, int lines_a_second = 1) : clock_(clock), lines_a_second_(lines_a_second) {}

  /// Whether a line under this name may be written now; else it is held back.
  [[nodiscard]] bool allows(const std::string& name);
  /// How many lines were held back, by name, where it is time for a line that says so.
  [[nodiscard]] std::map<std::string, std::uint64_t> take_held_back();
  /// When there will be such a line; the end of time where there will be none.
  [[nodiscard]] Clock::time_point next_line() const;

 private:
  struct Entry {
    Clock::time_point began = {};  ///< of the second that is counted
    int written = 0;               ///< in it
    std::uint64_t held_back = 0;
  };

  const Clock& clock_;
  const int lines_a_second_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace feroma::net
