#pragma once

#include <cstddef>
#include <span>

#include "feroma/core/batch.h"
#include "feroma/engine/objective.h"
#include "feroma/models/parameters.h"
#include "feroma/models/spec.h"

namespace feroma {

/// Throws unless `batch` has the engine's layout, the model's input shape and as many values as it says.
void require_batch(const ModelSpec& spec, BatchLayout layout, const Batch& batch);
/// Throws unless every sample of `batch` has what the loss reads, and a finite weight where there are weights, and the
/// latent gradient has the model's size.
void require_objective(const ModelSpec& spec, const Batch& batch, const Objective& objective);
/// Throws unless `params` has the model's size.
void require_parameters(const ParamLayout& layout, const Parameters& params);

}  // namespace feroma
