#pragma once

#include <cstddef>
#include <span>

namespace feroma {

/// The middle of repeated measurements and how far they lie apart; half of them are between low and high.
struct Quartiles {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;

  [[nodiscard]] double spread() const { return high - low; }
};

/// Quartiles with linear interpolation between neighbours; no value at all is an internal error.
[[nodiscard]] Quartiles quartiles_of(std::span<const double> values);

}  // namespace feroma
