#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "feroma/core/rng.h"

namespace feroma {

/// Probabilities of ranks 0..count-1, proportional to exp(-scale * rank): scale 0 is uniform, 1 prefers the first.
[[nodiscard]] std::vector<double> ranking(std::size_t count, double scale);
/// An index drawn with these probabilities, which sum to one.
[[nodiscard]] std::size_t pick(std::span<const double> probabilities, Rng& rng);
/// exp(x) over its sum, without overflow.
[[nodiscard]] std::vector<double> softmax(std::span<const double> logits);

}  // namespace feroma
