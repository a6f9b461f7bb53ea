#pragma once

#include <cstddef>
#include <span>

#include "feroma/mapping/matrix.h"

namespace feroma {

/**
 * Rows of weights in which no source but the receiver's own has more than `most`, so that a fold which bears that much
 * weight on liars bears any one of them. What is above goes to the row's other sources in proportion to their weights;
 * those that hardly count get nothing, so that a receiver with a single source keeps it. own[r] is the column of
 * receiver r's own source, or the number of columns.
 */
[[nodiscard]] Matrix limit_shares(Matrix weights, std::span<const std::size_t> own, double most);

}  // namespace feroma
