#pragma once

#include <cstdint>

#include "feroma/privacy/entropy_source.h"

namespace feroma {

__extension__ using Wide = unsigned __int128;

/**
 * Integer noise whose probabilities are exact (Canonne, Kamath, Steinke 2020): comparisons of random integers, no
 * floating point, so that no low bit of a release tells what was added. Running times depend on the noise alone.
 */
class DiscreteNoise {
 public:
  explicit DiscreteNoise(EntropySource& source) : source_(source) {}

  /// Uniform on 0..bound-1; bound >= 1.
  [[nodiscard]] Wide uniform_below(Wide bound);
  /// True with probability numerator / denominator.
  [[nodiscard]] bool bernoulli(Wide numerator, Wide denominator) { return uniform_below(denominator) < numerator; }
  /// True with probability exp(-numerator / denominator).
  [[nodiscard]] bool bernoulli_exp(Wide numerator, Wide denominator);
  /// Pr[k] proportional to exp(-|k| scale_denominator / scale); both at least 1, scale below 2^62.
  [[nodiscard]] std::int64_t laplace(std::uint64_t scale, std::uint64_t scale_denominator);
  /// Pr[k] proportional to exp(-k^2 / (2 variance)); variance between 1 and 2^52.
  [[nodiscard]] std::int64_t gaussian(std::uint64_t variance);

 private:
  EntropySource& source_;
};

}  // namespace feroma
