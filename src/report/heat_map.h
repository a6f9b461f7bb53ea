#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// Weights that all heat maps of a page may hold together; beyond it rounds are left out, evenly and with the last.
inline constexpr std::size_t kCellBudget = 1'500'000;

/// What the page draws of an algorithm's mixing: ids, distributions, and weights as two base-36 digits per mille.
/// A round that has more than `cell_budget` of them by itself is left out; where all have, there are no `rounds`.
[[nodiscard]] nlohmann::ordered_json heat_map_json(const AlgorithmRun& algorithm, std::size_t cell_budget);

}  // namespace feroma::detail
