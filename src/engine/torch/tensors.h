#pragma once

#include <ATen/ATen.h>

#include <span>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/engine/objective.h"

namespace feroma {

/// A tensor over memory that somebody else owns; no copy. libtorch has no const tensors, so callers only read it.
[[nodiscard]] at::Tensor view_of(std::span<const float> values, at::IntArrayRef shape);
/// The batch's samples x channels x rows x columns; no copy.
[[nodiscard]] at::Tensor input_of(const Batch& batch);
/// The mean over the batch of the per-sample losses, weighted where the batch has weights.
[[nodiscard]] at::Tensor mean_loss(const at::Tensor& logits, const Batch& batch, Loss loss);
[[nodiscard]] std::vector<float> values_of(const at::Tensor& tensor);

/// What of an objective is differentiated, and its value.
struct Total {
  at::Tensor differentiable;
  double value = 0;
};
/// The loss plus the objective's latent loss at `latent` (samples x features), where it has one.
[[nodiscard]] Total add_latent_loss(const at::Tensor& loss, const at::Tensor& latent, const Objective& objective);

}  // namespace feroma
