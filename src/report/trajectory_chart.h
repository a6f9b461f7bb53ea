#pragma once

#include <cstddef>
#include <string>

#include "feroma/report/run_data.h"
#include "report/shown_part.h"

namespace feroma::detail {

/// Clients drawn behind the mean; of more, some are chosen evenly.
inline constexpr std::size_t kTrajectories = 60;

/// How many of the clients that told their accuracy have a line.
[[nodiscard]] ShownPart drawn_clients(const AlgorithmRun& algorithm);

/// One algorithm's accuracy per round: clients after their training as faint lines, the mean of all before (dotted) and
/// after it (solid), and where data changed. `colour` is that of the algorithm.
[[nodiscard]] std::string trajectory_svg(const AlgorithmRun& algorithm, std::size_t colour);

}  // namespace feroma::detail
