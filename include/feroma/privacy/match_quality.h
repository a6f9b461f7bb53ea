#pragma once

#include <cstdint>

#include "feroma/privacy/record_sums.h"

namespace feroma {

/// How far groups of clients differ in each part of a profile, and how far two samples of 300 records do: standard
/// deviations in units of the bounds.
struct GroupSpread {
  double marginal_mean = 0;
  double marginal_spread = 0;
  double class_mean = 0;
  double class_spread = 0;
};
/// Measured on Fashion-MNIST with LeNet-5: four rotations, and four permutations of labels.
inline constexpr GroupSpread kRotatedGroups{0.031, 0.023, 0.056, 0.0105};
inline constexpr GroupSpread kPermutedGroups{0.004, 0.002, 0.111, 0.018};

/**
 * The share of clients that find their own group of four by the nearest private profile, if groups differ by as much:
 * twenty known clients, and thousands of draws. `noise` is the standard deviation that a release puts on every sum (in
 * units of the fixed point), `records` the number behind each profile. An estimate for planning, not a promise.
 */
[[nodiscard]] double expected_match(const SumShape& shape, double noise, std::int64_t records,
                                    const GroupSpread& groups);

}  // namespace feroma
