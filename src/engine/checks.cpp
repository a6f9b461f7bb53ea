#include "engine/checks.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::size_t kLanes = 64;

std::size_t stored_samples(const Batch& batch) {
  const auto size = static_cast<std::size_t>(batch.size);
  switch (batch.layout) {
    case BatchLayout::sample_major: return size;
    case BatchLayout::sample_innermost: return (size + kLanes - 1) / kLanes * kLanes;
  }
  unreachable();
}

}  // namespace

void require_batch(const ModelSpec& spec, BatchLayout layout, const Batch& batch) {
  require(batch.layout == layout, ErrorCode::internal, "[engine] the batch must have layout {}, got {}",
          static_cast<int>(layout), static_cast<int>(batch.layout));
  require(batch.shape == spec.input, ErrorCode::invalid_data,
          "[engine] {} takes samples of {} x {} x {}, got {} x {} x {}", spec.name, spec.input.channels,
          spec.input.height, spec.input.width, batch.shape.channels, batch.shape.height, batch.shape.width);
  require(batch.size >= 1, ErrorCode::internal, "[engine] a batch needs at least one sample, got {}", batch.size);
  const std::size_t expected = stored_samples(batch) * static_cast<std::size_t>(spec.input.size());
  require(batch.inputs.size() == expected, ErrorCode::invalid_data, "[engine] {} samples need {} values, got {}",
          batch.size, expected, batch.inputs.size());
}

void require_targets(const ModelSpec& spec, const Batch& batch) {
  const auto size = static_cast<std::size_t>(batch.size);
  require(batch.labels.size() == size, ErrorCode::invalid_data, "[engine] {} samples need as many labels, got {}", size,
          batch.labels.size());
  for (const std::int32_t label : batch.labels) {
    require(label >= 0 && label < spec.classes, ErrorCode::invalid_data, "[engine] a label must be in 0..{}, got {}",
            spec.classes - 1, label);
  }
  require(batch.weights.empty() || batch.weights.size() == size, ErrorCode::invalid_data,
          "[engine] {} samples need as many weights or none, got {}", size, batch.weights.size());
  for (const float weight : batch.weights) {
    require(std::isfinite(weight), ErrorCode::invalid_data, "[engine] a sample weight must be finite, got {}", weight);
  }
}

void require_parameters(const ParamLayout& layout, const Parameters& params) {
  require(params.size() == layout.size, ErrorCode::invalid_data, "[engine] the model has {} parameters, got {}",
          layout.size, params.size());
}

}  // namespace feroma
