#pragma once

#include <span>

#include "feroma/data/view.h"

namespace feroma {

/// All samples of several views of one dataset, one view after the other; each keeps its own recipes.
[[nodiscard]] View join_views(std::span<const View> views);

}  // namespace feroma
