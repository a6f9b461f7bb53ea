#include "report/cell_text.h"

#include <fmt/core.h>

#include <cmath>

namespace feroma::detail {

std::string spread_text(double mean, const std::optional<double>& deviation, int digits, const char* plus_minus) {
  return deviation ? fmt::format("{:.{}f}{}{:.{}f}", mean, digits, plus_minus, *deviation, digits)
                   : fmt::format("{:.{}f}", mean, digits);
}

std::string ours_text(const PaperValue& value, int digits, const char* plus_minus) {
  if (value.ours) {
    return spread_text(*value.ours, value.ours_std, digits, plus_minus);
  }
  if (value.cells_found > 0) {
    return fmt::format("{} of {} cells", value.cells_found, value.cells_needed);
  }
  if (value.not_applicable) {
    return "not applicable";
  }
  return value.published ? "missing" : "-";
}

std::string published_text(const PaperValue& value, int digits, const char* plus_minus) {
  return value.published ? spread_text(*value.published, value.published_std, digits, plus_minus) : "-";
}

std::string difference_text(const PaperValue& value, int digits) {
  const std::optional<double> difference = value.difference();
  return difference ? fmt::format("{:+.{}f}", *difference, digits) : "";
}

Tone tone_of(const PaperValue& value, const PaperColumn& column) {
  const double difference = value.difference().value_or(0);
  if (std::abs(difference) < 0.5 * std::pow(10.0, -column.digits)) {
    return Tone::plain;
  }
  return (difference > 0) == column.higher_is_better ? Tone::good : Tone::bad;
}

std::string p_text(double p) { return p < 1e-4 ? "< 0.0001" : fmt::format("{:.4f}", p); }

}  // namespace feroma::detail
