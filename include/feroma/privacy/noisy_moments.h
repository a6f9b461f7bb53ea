#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feroma/privacy/record_sums.h"

namespace feroma {

/// What noisy sums tell of one block's records, in units of the bounds, and the variance that the noise puts into it.
struct NoisyMoments {
  double count = 0;        ///< at least 1 and twice its noise, so that nothing is divided by noise
  double count_noise = 0;  ///< standard deviation
  bool present = false;    ///< the count is beyond twice its noise; else it may as well be none
  std::vector<double> mean;
  std::vector<double> mean_noise;
  std::vector<double> variance;  ///< without bias, so it may be negative
  /// The variance over twice a reference spread, plus half of that spread: near it the spread itself, but linear in the
  /// noise, so that its own is known and no root of a negative number is drawn.
  std::vector<double> spread;
  std::vector<double> spread_noise;
};

/// Sums read back: one entry per class, and the marginal last. Sums are divided by the weights of the shape.
struct NoisyStatistics {
  std::vector<NoisyMoments> classes;
  NoisyMoments marginal;
};

/// `noise` is the standard deviation on every entry of the release, in units of the fixed point; `reference` one spread
/// per coordinate.
[[nodiscard]] NoisyStatistics read_statistics(const SumShape& shape, std::span<const std::int64_t> released,
                                              double noise, std::span<const double> reference);

/// Mean and variance of every coordinate over the records of all releases together, in units of the bounds.
struct PooledMoments {
  std::vector<double> mean;
  std::vector<double> variance;  ///< at least 0.05 squared
};
[[nodiscard]] PooledMoments pooled_moments(const SumShape& shape, std::span<const std::vector<std::int64_t>> releases);

/// Standard deviation of the noise that `release` adds.
[[nodiscard]] double release_noise(const SumShape& shape, Neighbours neighbours, double cost);

}  // namespace feroma
