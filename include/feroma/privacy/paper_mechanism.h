#pragma once

#include <cstdint>

namespace feroma {

/// Coordinates of a profile whose mean and spread are noised.
struct MomentCounts {
  int marginal = 10;
  int per_class = 10;
  int classes = 10;
};

/**
 * What the published mechanism really gives: Laplace noise of scale range / (samples * epsilon) on every moment of a
 * profile, as multiples of the epsilon that it claims. Upper bounds for one release, one record exchanged, bounds taken
 * as public and no masks; with masks the marginal's part doubles, and exact bounds make all of it infinite.
 */
struct ComposedEpsilon {
  double worst = 0;       ///< over all data sets
  double balanced = 0;    ///< where every class has `samples / classes` records
  double label_free = 0;  ///< of a profile without classes
};
[[nodiscard]] ComposedEpsilon composed_epsilon(double epsilon, const MomentCounts& moments, std::int64_t samples);

}  // namespace feroma
