#pragma once

#include <vector>

#include "feroma/report/published.h"
#include "feroma/report/study.h"
#include "report/plot.h"

namespace feroma::detail {

/// Plots over what groups of runs differ in alone: the number of clients (accuracy and seconds), the privacy budget,
/// the number of labels. Empty where no two groups do; published curves are added where the paper has them.
[[nodiscard]] std::vector<Plot> sweep_plots(const Study& study, const std::vector<PublishedFigure>& published);

}  // namespace feroma::detail
