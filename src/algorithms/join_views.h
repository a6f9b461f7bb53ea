#pragma once

#include <span>

#include "feroma/core/rng.h"
#include "feroma/data/view.h"

namespace feroma {

/// All samples of several views of one dataset, one view after the other; each keeps its own recipes.
[[nodiscard]] View join_views(std::span<const View> views);

/// At most `most` samples of a view, drawn by `rng`.
[[nodiscard]] View some_of(const View& view, std::size_t most, Rng rng);

}  // namespace feroma
