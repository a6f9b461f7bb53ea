#pragma once

#include <optional>
#include <span>

namespace feroma {

/// Spearman's rank correlation, -1 to 1: whether larger goes with larger, whatever the scales; equal values share their
/// mean rank. Absent where there are no two values or all of one side are equal; both sides have the same length.
[[nodiscard]] std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b);

}  // namespace feroma
