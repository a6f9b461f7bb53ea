#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"

namespace feroma {

/// A convolution, an odd extent that pooling cuts, and few enough parameters to differentiate numerically.
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

inline constexpr std::array kLosses{Loss::cross_entropy, Loss::binary_cross_entropy, Loss::entropy};

/// Parameters away from their round starting values, so that gains and running statistics matter.
inline Parameters lively(const ModelSpec& spec, std::uint64_t seed) {
  Parameters params = initialise(spec, Rng(seed));
  Rng rng(seed + 100);
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    const SegmentKind kind = params.layout().segments[i].kind;
    if (kind == SegmentKind::affine || kind == SegmentKind::buffer) {
      for (float& value : params.segment(i)) {
        value += static_cast<float>(rng.uniform(0.1, 0.6));
      }
    }
  }
  return params;
}

/// Inputs on both sides of zero, with labels and targets.
inline Batch full_batch(const ModelSpec& spec, int size, std::uint64_t seed) {
  Batch batch = random_batch(spec, size, seed);
  Rng rng(seed + 7);
  for (int i = 0; i < size * spec.classes; ++i) {
    batch.targets.push_back(static_cast<float>(rng.below(2)));
  }
  for (float& value : batch.inputs) {
    value = 4 * value - 2;
  }
  return batch;
}

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// The L2 norm of the difference over that of `b`.
template <class A, class B>
double relative_error(const A& a, const B& b) {
  double difference = a.size() == b.size() ? 0.0 : HUGE_VAL;
  double norm = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(a.size(), b.size()); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    difference += d * d;
    norm += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return std::sqrt(difference / norm);
}

}  // namespace feroma
