#include "feroma/bench/quartiles.h"

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {

Quartiles quartiles_of(std::span<const double> values) {
  require(!values.empty(), ErrorCode::internal, "[bench] quartiles need at least one value");
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
  };
  return {at(0.5), at(0.25), at(0.75), sorted.size()};
}

}  // namespace feroma
