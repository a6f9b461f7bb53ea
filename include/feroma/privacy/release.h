#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feroma/privacy/discrete_noise.h"
#include "feroma/privacy/record_sums.h"

namespace feroma {

/// Laplace noise as a fraction: Pr[k] proportional to exp(-|k| denominator / scale).
struct LaplaceScale {
  std::uint64_t scale = 1;
  std::uint64_t denominator = 1;
};

/// The noise that makes sums of this sensitivity epsilon-private; epsilon is rounded down to a multiple of 2^-20.
[[nodiscard]] LaplaceScale laplace_scale(std::int64_t sensitivity, double epsilon);
/// The variance that makes sums of this squared sensitivity rho-zCDP.
[[nodiscard]] std::uint64_t gaussian_variance(std::int64_t squared_sensitivity, double rho);

/// Sums with noise on every entry. `cost` is a box's epsilon or a ball's rho.
[[nodiscard]] std::vector<std::int64_t> release(const SumShape& shape, Neighbours neighbours, double cost,
                                                std::span<const std::int64_t> sums, EntropySource& entropy);

}  // namespace feroma
