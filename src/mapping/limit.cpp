#include "feroma/mapping/limit.h"

#include <algorithm>
#include <vector>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// A source with less than this share of a row's largest weight is of another distribution, and no company.
constexpr double kCompany = 1e-3;

void limit_row(std::span<double> row, std::size_t own, double most) {
  const double least = kCompany * *std::max_element(row.begin(), row.end());
  std::vector<std::size_t> open;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (row[c] >= least) {
      open.push_back(c);
    }
  }
  std::vector<std::size_t> full;
  for (;;) {
    double excess = 0;
    std::erase_if(open, [&](std::size_t c) {
      const bool too_much = c != own && row[c] > most;
      if (too_much) {
        excess += row[c] - most;
        row[c] = most;
        full.push_back(c);
      }
      return too_much;
    });
    if (excess == 0) {
      return;
    }
    // Where everybody has as much as one may have, the rest is shared out among them alike.
    const std::vector<std::size_t>& takers = open.empty() ? full : open;
    double taken = 0;
    for (const std::size_t c : takers) {
      taken += row[c];
    }
    for (const std::size_t c : takers) {
      row[c] *= 1 + excess / taken;
    }
    if (open.empty()) {
      return;
    }
  }
}

}  // namespace

Matrix limit_shares(Matrix weights, std::span<const std::size_t> own, double most) {
  require(own.size() == weights.rows && most > 0, ErrorCode::internal, "[mapping] {} own columns for {} rows, limit {}",
          own.size(), weights.rows, most);
  for (std::size_t r = 0; r < weights.rows; ++r) {
    limit_row(weights.row(r), own[r], most);
  }
  return weights;
}

}  // namespace feroma
