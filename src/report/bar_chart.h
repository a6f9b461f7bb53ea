#pragma once

#include <string>

#include "feroma/report/groups.h"

namespace feroma::detail {

/// What each algorithm of a group costs: seconds and kilobytes up and down, as bars. Empty without any of them.
[[nodiscard]] std::string cost_bars_svg(const ResultGroup& group);

}  // namespace feroma::detail
