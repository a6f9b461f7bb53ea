#pragma once

#include <optional>
#include <span>

namespace feroma {

/// The chance that a positive scores above a negative, ties counting half; absent where either side is empty.
[[nodiscard]] std::optional<double> area_under_curve(std::span<const double> positives,
                                                     std::span<const double> negatives);

}  // namespace feroma
