#pragma once

#include <cstdint>
#include <span>

#include "feroma/data/dataset.h"
#include "feroma/data/view.h"

namespace feroma {

/// Rows of a dataset's training samples as they are: nothing is turned, tinted or given another label. The view borrows
/// from the dataset, which must outlive it.
[[nodiscard]] View plain_view(const Dataset& dataset, std::span<const std::uint32_t> rows);

}  // namespace feroma
