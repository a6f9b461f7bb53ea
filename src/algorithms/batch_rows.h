#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feroma/core/batch.h"

namespace feroma {

/// The samples of a batch, one row [channel][row][column] each, whatever its layout.
[[nodiscard]] std::vector<float> rows_of(const Batch& batch);

/// The batch followed by more samples, given as such rows with their labels; without weights and targets.
[[nodiscard]] Batch with_rows(const Batch& batch, std::span<const float> rows, std::span<const std::int32_t> labels);

}  // namespace feroma
