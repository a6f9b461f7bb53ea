#include "feroma/metrics/auc.h"

#include <algorithm>
#include <vector>

namespace feroma {

std::optional<double> area_under_curve(std::span<const double> positives, std::span<const double> negatives) {
  if (positives.empty() || negatives.empty()) {
    return std::nullopt;
  }
  std::vector<double> sorted(negatives.begin(), negatives.end());
  std::sort(sorted.begin(), sorted.end());
  double wins = 0;
  for (const double positive : positives) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), positive);
    wins += static_cast<double>(first - sorted.begin()) + 0.5 * static_cast<double>(last - first);
  }
  return wins / (static_cast<double>(positives.size()) * static_cast<double>(negatives.size()));
}

}  // namespace feroma
