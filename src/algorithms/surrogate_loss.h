#pragma once

#include <cstdint>
#include <span>

#include "algorithms/prototypes.h"
#include "algorithms/wide_head.h"
#include "feroma/algorithms/fedgps.h"

namespace feroma {

/// Latents of real samples, then of made-up ones; labels of both count from 0.
struct MixedLatents {
  std::span<const float> latents;
  std::span<const std::int32_t> labels;
  std::size_t real = 0;

  [[nodiscard]] std::size_t width() const { return latents.size() / labels.size(); }
};

/// The cross-entropy over real and made-up classes: the mean over real samples plus the weighted one over the others.
/// `own` and `made_up` are the halves of the last layer, each weights [class][latent] and then biases.
[[nodiscard]] WideLoss wide_loss(const FedGpsOptions& options, int classes, std::span<const float> own,
                                 std::span<const float> made_up, const MixedLatents& mixed);

/// What draws latents together: both contrasts and the distance to prototypes. Adds its gradient, returns its value.
double add_alignment_(const FedGpsOptions& options, int classes, const MixedLatents& mixed, const Prototypes& targets,
                      std::span<float> slope);

}  // namespace feroma
