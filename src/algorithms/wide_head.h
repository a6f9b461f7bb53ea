#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace feroma {

/// A linear layer from latents to more classes than the model has: [class][latent], and a bias for each class.
struct WideHead {
  std::span<const float> weights;
  std::span<const float> biases;
};

/// The cross-entropy of a wide head's softmax, and its gradients.
struct WideLoss {
  double value = 0;
  std::vector<float> latents;  ///< samples x width
  std::vector<float> weights;
  std::vector<float> biases;
};

/// The sum over samples of scale times cross-entropy; `labels` count over all of the head's classes.
[[nodiscard]] WideLoss wide_cross_entropy(const WideHead& head, std::span<const float> latents,
                                          std::span<const std::int32_t> labels, std::span<const double> scales);

}  // namespace feroma
