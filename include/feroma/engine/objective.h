#pragma once

#include <functional>
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

/// A loss of the batch's latents (samples x latent size, as the training pass computes them): returns its value and
/// fills its gradient, which comes as zeros of the same size.
using LatentLoss = std::function<double(std::span<const float> latents, std::span<float> gradient)>;

/// What a gradient is of: a loss of the logits, and a further one of a latent where there is one; they are added.
struct Objective {
  Loss loss = Loss::cross_entropy;
  LatentLoss latent_loss = {};          ///< called once, between the forward and the backward pass
  Latent latent = Latent::penultimate;  ///< what it reads
  Statistics statistics = Statistics::batch;
};

}  // namespace feroma
