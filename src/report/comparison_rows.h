#pragma once

#include <string>
#include <vector>

#include "feroma/report/compare.h"

namespace feroma::detail {

/// The headings of a comparison's table: algorithm, mean rank, lead of the reference, n, and p values.
[[nodiscard]] std::vector<std::string> comparison_headings(const Comparison& comparison);
/// Its rows under them: those that are ranked, best first, then those that are tested alone. "-" where there is no
/// value.
[[nodiscard]] std::vector<std::vector<std::string>> comparison_rows(const Comparison& comparison);

}  // namespace feroma::detail
