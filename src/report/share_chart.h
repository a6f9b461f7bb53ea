#pragma once

#include <string>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Whether any round of the algorithm says how its clients were served.
[[nodiscard]] bool has_shares(const AlgorithmRun& algorithm);
/// One bar per round: which part of the clients got a global, a clustered and a personal model.
[[nodiscard]] std::string share_chart_svg(const AlgorithmRun& algorithm);

}  // namespace feroma::detail
