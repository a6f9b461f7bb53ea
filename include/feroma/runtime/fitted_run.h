#pragma once

#include <memory>
#include <string_view>

#include "feroma/drift/federation.h"
#include "feroma/partition/shared_datasets.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// A scenario with its data, and an experiment whose defaults these data bear.
struct FittedRun {
  Experiment experiment;
  std::unique_ptr<Federation> federation;
};

/// Reads the data of a scenario. What nobody wrote and the data do not bear gives way: fewer clients or stages, another
/// model, smaller profiles. Whatever is wrong then was written, and is one invalid_config error with file and line.
[[nodiscard]] FittedRun fit_to_data(const Experiment& given, SharedDatasets* datasets = nullptr);

/// What of it depends on nothing but what samples look like: the model, and algorithms that depend on it.
[[nodiscard]] Experiment fit_to_samples(Experiment experiment, SampleShape input, int classes);

/// Whether a key's default follows other keys and the data, so that a file to start from must not fix it.
[[nodiscard]] bool follows_others(std::string_view key);

}  // namespace feroma
