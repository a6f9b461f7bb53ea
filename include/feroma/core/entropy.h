#pragma once

#include <span>

#include "feroma/core/portable_math.h"

namespace feroma {

/// The entropy of a prediction in nats.
[[nodiscard]] inline double entropy_of(std::span<const float> probabilities) {
  double entropy = 0;
  for (const float p : probabilities) {
    entropy -= p > 0 ? static_cast<double>(p) * portable_log(static_cast<double>(p)) : 0.0;
  }
  return entropy;
}

}  // namespace feroma
