#pragma once

#include "feroma/algorithms/algorithm.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// What an experiment's algorithms are told before the first round; `rng` is the run's root stream. The caller fills in
/// what it alone knows: rounds, whether samples have several labels, how work is shared out.
[[nodiscard]] ServerContext make_server_context(const Experiment& experiment, const ModelSpec& model,
                                                const ParametersPtr& initial, const Rng& rng);

}  // namespace feroma
