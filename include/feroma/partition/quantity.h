#pragma once

#include <cstddef>
#include <vector>

#include "feroma/core/rng.h"

namespace feroma {

/// Unequal sizes that sum to `total`: weights are normal around 1/2, cut to [0, 1], and normalised. Everyone gets at
/// least one; invalid_config where that is hopeless.
[[nodiscard]] std::vector<std::size_t> unequal_sizes(std::size_t total, std::size_t clients, double std, Rng rng);

}  // namespace feroma
