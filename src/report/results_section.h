#pragma once

#include <string>

#include "feroma/report/run_data.h"

namespace feroma::detail {

/// The figures at the top of the page: best accuracy, lead, worst tenth, time. Empty without results.
[[nodiscard]] std::string tiles_html(const RunData& run);
/// The results table with the best value of each column marked.
[[nodiscard]] std::string results_html(const RunData& run);
/// The colour of an algorithm, the same in table, curves and keys.
[[nodiscard]] std::size_t colour_of(const RunData& run, const std::string& label);

}  // namespace feroma::detail
