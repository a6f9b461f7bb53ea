#pragma once

#include "feroma/algorithms/feddrift.h"
#include "feroma/data/view.h"
#include "feroma/metrics/tally.h"

namespace feroma {

/// More is better: hits, or losses with their sign turned. Multi-label data have no hits but a rate that stands for
/// them.
[[nodiscard]] double merit_of(const Tally& tally, FedDriftMeasure measure);

/// What the frequencies of the labels get without a look at the samples.
[[nodiscard]] Tally guess_on(const View& view, int classes);

}  // namespace feroma
