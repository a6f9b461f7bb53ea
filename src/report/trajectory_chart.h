#pragma once

#include <cstddef>
#include <string>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Clients drawn behind the mean; of more, some are chosen evenly.
inline constexpr std::size_t kTrajectories = 60;

/// One algorithm's accuracy per round: each client after its training as a faint line, their mean before (dotted) and
/// after it (solid), and where data changed. `colour` is that of the algorithm.
[[nodiscard]] std::string trajectory_svg(const AlgorithmRun& algorithm, std::size_t colour);

}  // namespace feroma::detail
