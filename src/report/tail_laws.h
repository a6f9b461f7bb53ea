#pragma once

#include <cstddef>

namespace feroma::detail {

/// The range of `count` standard normal values (infinite degrees of freedom) that is exceeded with 1 - `probability`.
[[nodiscard]] double studentized_range_quantile(std::size_t count, double probability);

}  // namespace feroma::detail
