#pragma once

#include "feroma/core/defaults.h"
#include "feroma/data/dataset.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// Defaults of a scenario follow its other keys: what does not drift is static, and what is static has one stage.
void follow_each_other_(ScenarioOptions& options, Defaults& defaults);

/// And then the data: how clients differ where pictures cannot be turned, how many owners there are, how many different
/// distributions so few classes make. The numbers of clients and stages that a dataset bears are tried out elsewhere.
void follow_data_(ScenarioOptions& options, const Dataset& dataset, Defaults& defaults);

}  // namespace feroma
