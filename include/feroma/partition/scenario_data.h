#pragma once

#include <memory>

#include "feroma/data/dataset.h"
#include "feroma/partition/scenario.h"
#include "feroma/partition/shared_datasets.h"

namespace feroma {

/**
 * The dataset of a scenario. Under natural shift, domains of several factors (view x age x sex) are merged to as many
 * as the level asks for: one, two or three. Options that the dataset, which `read_scenario_files` read, would ignore
 * are problems.
 */
[[nodiscard]] std::shared_ptr<const Dataset> scenario_data(std::shared_ptr<const Dataset> files,
                                                           const ScenarioOptions& options, Problems& problems);

/// The same from the files. With `shared`, those that it has read already are not read again.
[[nodiscard]] std::shared_ptr<const Dataset> load_scenario_data(const ScenarioOptions& options, Problems& problems,
                                                                SharedDatasets* shared = nullptr);

}  // namespace feroma
