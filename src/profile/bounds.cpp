#include "feroma/profile/bounds.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {

Bounds bounds_of(const Rows& rows) {
  require(rows.count() > 0, ErrorCode::invalid_data, "[profile] bounds need at least one sample, got none");
  const auto first = rows.row(0);
  Bounds bounds{{first.begin(), first.end()}, {first.begin(), first.end()}};
  for (std::size_t i = 1; i < rows.count(); ++i) {
    const auto row = rows.row(i);
    for (std::size_t c = 0; c < row.size(); ++c) {
      bounds.lower[c] = std::min(bounds.lower[c], row[c]);
      bounds.upper[c] = std::max(bounds.upper[c], row[c]);
    }
  }
  return bounds;
}

Bounds merge(std::span<const Bounds> bounds) {
  require(!bounds.empty(), ErrorCode::internal, "[profile] cannot merge zero bounds");
  Bounds merged = bounds.front();
  for (const Bounds& b : bounds.subspan(1)) {
    for (std::size_t c = 0; c < merged.lower.size(); ++c) {
      merged.lower[c] = std::min(merged.lower[c], b.lower[c]);
      merged.upper[c] = std::max(merged.upper[c], b.upper[c]);
    }
  }
  return merged;
}

Bounds cube(int width, double upper) {
  const auto size = static_cast<std::size_t>(width);
  return {std::vector<float>(size, 0.0F), std::vector<float>(size, static_cast<float>(upper))};
}

}  // namespace feroma
