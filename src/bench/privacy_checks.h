#pragma once

#include <cstdint>
#include <span>

#include "feroma/core/rng.h"
#include "feroma/privacy/record_sums.h"

namespace feroma::detail {

/// A record whose sums are as large as hill climbing makes them.
struct WorstRecord {
  std::vector<std::int64_t> block;
  double share = 0;  ///< of the bound, in the clipping's own norm
};
[[nodiscard]] WorstRecord climb_to_bound(const SumShape& shape, int steps, Rng rng);

/// The largest log-ratio of probabilities that discrete Laplace noise gives any output, with and without the record.
[[nodiscard]] double laplace_log_ratio(std::span<const std::int64_t> block, double rate);

/// Renyi divergence of two discrete Gaussians, summed exactly: order shift^2 / (2 variance), and a rest that is never
/// above 0.
[[nodiscard]] double renyi_divergence(double order, std::int64_t shift, std::uint64_t variance);

}  // namespace feroma::detail
