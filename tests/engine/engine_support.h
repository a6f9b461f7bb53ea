#pragma once

#include <algorithm>
#include <cstdint>

#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"

namespace feroma {

/// Every layer kind, an odd extent that pooling cuts, and few enough parameters to differentiate numerically.
inline ModelSpec tiny_spec() {
  return {"tiny",
          {2, 9, 8},
          3,
          {Conv2d{"conv1", 3, 3, 1}, Relu{}, AvgPool{2}, Flatten{}, Linear{"fc1", 5}, Relu{}, Linear{"fc2", 3}}};
}

/// Uniform inputs and labels, sample by sample.
inline Batch random_batch(const ModelSpec& spec, int size, std::uint64_t seed) {
  Rng rng(seed);
  Batch batch;
  batch.size = size;
  batch.shape = spec.input;
  for (int i = 0; i < size * spec.input.size(); ++i) {
    batch.inputs.push_back(static_cast<float>(rng.uniform()));
  }
  for (int i = 0; i < size; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(spec.classes))));
  }
  return batch;
}

/// The same samples in another layout; `batch` is sample-major.
inline Batch laid_out(const Batch& batch, BatchLayout layout) {
  Batch turned = batch;
  if (layout == BatchLayout::sample_innermost) {
    constexpr std::size_t kLanes = 64;
    turned.layout = layout;
    const auto size = static_cast<std::size_t>(batch.shape.size());
    const auto samples = static_cast<std::size_t>(batch.size);
    turned.inputs.assign((samples + kLanes - 1) / kLanes * kLanes * size, 0.0F);
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const std::size_t first = sample / kLanes * kLanes * size + sample % kLanes;
      for (std::size_t i = 0; i < size; ++i) {
        turned.inputs[first + i * kLanes] = batch.inputs[sample * size + i];
      }
    }
  }
  return turned;
}

}  // namespace feroma
