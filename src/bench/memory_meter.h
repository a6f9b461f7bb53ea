#pragma once

#include <cstdint>
#include <optional>

namespace feroma::detail {

/// How far this process's memory grows above where it stood when the meter was made.
class MemoryMeter {
 public:
  MemoryMeter();

  /// Bytes at the highest point so far; absent where the operating system does not tell.
  [[nodiscard]] std::optional<double> peak_growth_bytes() const;

 private:
  std::optional<double> start_bytes_;
};

}  // namespace feroma::detail
