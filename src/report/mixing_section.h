#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// What the page's script draws of the mixing of every algorithm that mixes; with several runs their names too.
[[nodiscard]] nlohmann::ordered_json mixing_json(std::span<const RunData> runs);
/// The section with one heat map for each of them, or a line where even one round is too large for the page; empty
/// without any.
[[nodiscard]] std::string mixing_section(const nlohmann::ordered_json& all);

}  // namespace feroma::detail
