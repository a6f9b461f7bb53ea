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
  turned.layout = layout;
  if (layout.kind == BatchLayout::sample_innermost) {
    const int columns = batch.shape.width + 2 * layout.border;
    const std::size_t group = layout.size(batch.shape, 1);
    turned.inputs.assign(layout.size(batch.shape, batch.size), 0.0F);
    for (int sample = 0; sample < batch.size; ++sample) {
      for (int i = 0; i < batch.shape.size(); ++i) {
        const int pixel = i / batch.shape.width * columns + layout.border + i % batch.shape.width;
        const auto to = static_cast<std::size_t>(sample / kBatchLanes) * group +
                        static_cast<std::size_t>(pixel * kBatchLanes + sample % kBatchLanes);
        turned.inputs[to] = batch.inputs[static_cast<std::size_t>(sample * batch.shape.size() + i)];
      }
    }
  }
  return turned;
}

}  // namespace feroma
