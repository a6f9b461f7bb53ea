#pragma once

#include <optional>
#include <string>

#include "feroma/report/paper_table.h"
#include "feroma/report/statistics.h"

namespace feroma::detail {

/// Whether a difference is to our favour; differences that vanish in print are neither.
enum class Tone { plain, good, bad };

/// "90.61 ± 0.24", or without the spread where there is none.
[[nodiscard]] std::string spread_text(double mean, const std::optional<double>& deviation, int digits,
                                      const char* plus_minus = " ± ");
/// Ours, or "missing", or "2 of 4 cells" for a mean that is not whole, or "not applicable"; "-" where the paper has no
/// figure either.
[[nodiscard]] std::string ours_text(const PaperValue& value, int digits, const char* plus_minus = " ± ");
[[nodiscard]] std::string published_text(const PaperValue& value, int digits, const char* plus_minus = " ± ");
/// "+1.20", or "" where one of the two is missing.
[[nodiscard]] std::string difference_text(const PaperValue& value, int digits);
[[nodiscard]] Tone tone_of(const PaperValue& value, const PaperColumn& column);
/// "0.0312", "< 0.0001".
[[nodiscard]] std::string p_text(double p);

}  // namespace feroma::detail
