#pragma once

#include <span>

#include "feroma/models/spec.h"

namespace feroma {

/// What the mean over a batch is taken of. Per-sample weights multiply each sample's loss.
enum class Loss {
  cross_entropy,         ///< softmax against `Batch::labels`
  binary_cross_entropy,  ///< sigmoid against `Batch::targets`, mean over the classes
  entropy,               ///< of the softmax; reads no labels
};

/// What normalisation layers with running statistics normalise by.
enum class Statistics {
  batch,    ///< the batch's own, as in training; the running ones follow them
  running,  ///< as in evaluation; they stay, and have a gradient like everything else the loss depends on
};

/// What a gradient is of: a loss, and a further gradient that enters at a latent (zero where there is none).
struct Objective {
  Loss loss = Loss::cross_entropy;
  std::span<const float> latent_gradient;  ///< samples x latent size, added to the loss's own; empty: nothing is added
  Latent latent = Latent::penultimate;     ///< where it enters
  Statistics statistics = Statistics::batch;
};

}  // namespace feroma
