#include "engine/checks.h"

#include <cmath>

#include "feroma/core/error.h"
#include "feroma/engine/engine.h"

namespace feroma {
namespace {

void require_labels(const ModelSpec& spec, const Batch& batch) {
  require(batch.labels.size() == static_cast<std::size_t>(batch.size), ErrorCode::invalid_data,
          "[engine] {} samples need as many labels, got {}", batch.size, batch.labels.size());
  for (const std::int32_t label : batch.labels) {
    require(label >= 0 && label < spec.classes, ErrorCode::invalid_data, "[engine] a label must be in 0..{}, got {}",
            spec.classes - 1, label);
  }
}

void require_targets(const ModelSpec& spec, const Batch& batch) {
  const std::size_t expected = static_cast<std::size_t>(batch.size) * static_cast<std::size_t>(spec.classes);
  require(batch.targets.size() == expected, ErrorCode::invalid_data, "[engine] {} samples need {} targets, got {}",
          batch.size, expected, batch.targets.size());
  for (const float target : batch.targets) {
    require(target >= 0 && target <= 1, ErrorCode::invalid_data, "[engine] a target must be in [0, 1], got {}", target);
  }
}

}  // namespace

// Here because the torch module takes it along, and with it what else is in the file.
Parameters Engine::with_batch_statistics(const Parameters& params, const Batch&) {
  for (const Segment& segment : params.layout().segments) {
    require(segment.kind != SegmentKind::buffer, ErrorCode::unsupported,
            "[engine] {} cannot measure the statistics behind {}", name(), segment.name);
  }
  return params.clone();
}

void require_batch(const ModelSpec& spec, BatchLayout layout, const Batch& batch) {
  require(batch.layout == layout, ErrorCode::internal,
          "[engine] the batch must have layout {} with a border of {}, got {} with {}", static_cast<int>(layout.kind),
          layout.border, static_cast<int>(batch.layout.kind), batch.layout.border);
  require(batch.shape == spec.input, ErrorCode::invalid_data,
          "[engine] {} takes samples of {} x {} x {}, got {} x {} x {}", spec.name, spec.input.channels,
          spec.input.height, spec.input.width, batch.shape.channels, batch.shape.height, batch.shape.width);
  require(batch.size >= 1, ErrorCode::internal, "[engine] a batch needs at least one sample, got {}", batch.size);
  const std::size_t expected = layout.size(spec.input, batch.size);
  require(batch.inputs.size() == expected, ErrorCode::invalid_data, "[engine] {} samples need {} values, got {}",
          batch.size, expected, batch.inputs.size());
}

void require_objective(const ModelSpec& spec, const Batch& batch, const Objective& objective) {
  const auto size = static_cast<std::size_t>(batch.size);
  switch (objective.loss) {
    case Loss::cross_entropy: require_labels(spec, batch); break;
    case Loss::binary_cross_entropy: require_targets(spec, batch); break;
    case Loss::entropy: break;
  }
  require(batch.weights.empty() || batch.weights.size() == size, ErrorCode::invalid_data,
          "[engine] {} samples need as many weights or none, got {}", size, batch.weights.size());
  for (const float weight : batch.weights) {
    require(std::isfinite(weight), ErrorCode::invalid_data, "[engine] a sample weight must be finite, got {}", weight);
  }
  if (!objective.latent_gradient.empty()) {
    const std::size_t expected = size * static_cast<std::size_t>(latent_size(spec, objective.latent));
    require(objective.latent_gradient.size() == expected, ErrorCode::internal,
            "[engine] {} samples need a latent gradient of {} values, got {}", size, expected,
            objective.latent_gradient.size());
  }
}

void require_parameters(const ParamLayout& layout, const Parameters& params) {
  require(params.size() == layout.size, ErrorCode::invalid_data, "[engine] the model has {} parameters, got {}",
          layout.size, params.size());
}

}  // namespace feroma
