#pragma once

#include <string>
#include <utility>
#include <vector>

#include "feroma/report/compare.h"

namespace feroma::detail {

/// First and last of the algorithms, by mean rank, that a critical difference does not tell apart; only the longest
/// such stretches, and none of a single one.
[[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> rank_groups(const std::vector<double>& sorted_ranks,
                                                                           double critical_difference);

/// The critical-difference diagram: mean ranks on a line, bars below join what the test does not tell apart.
[[nodiscard]] std::string rank_chart_svg(const Comparison& comparison);

}  // namespace feroma::detail
