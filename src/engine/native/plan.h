#pragma once

#include <cstddef>
#include <vector>

#include "engine/native/kernels.h"
#include "feroma/models/spec.h"

namespace feroma::detail {

/// One activation of the model in the engine's layout.
struct Tensor {
  Extent extent;
  int border = 0;       ///< zero columns on either side of each row
  bool packed = false;  ///< read as one vector per sample, so it must stay without a border
  bool flattened = false;

  [[nodiscard]] Strides strides() const;
  /// Floats of one group of 16 samples.
  [[nodiscard]] std::size_t group_size() const;
  /// From the start of a group to its first pixel.
  [[nodiscard]] std::size_t first_pixel() const { return static_cast<std::size_t>(border * kGroupLanes); }
  [[nodiscard]] std::size_t features() const;
  /// As the step that reads it sees it.
  [[nodiscard]] Tensor as_input() const;
};

enum class StepKind { convolve, pool, linear };

/// One step from tensors[i] to tensors[i + 1], where i is the step's position.
struct Step {
  StepKind kind = StepKind::pool;
  bool rectify = false;  ///< a ReLU follows at once
  int size = 1;          ///< kernel or window
  int padding = 0;
  std::size_t weight = 0;  ///< offset in the parameters
  std::size_t bias = 0;
};

/**
 * A model as a chain of steps. A ReLU is part of the step before it; where there is none, or where a border has to come
 * or go, a mean over 1 x 1 windows copies.
 */
struct Plan {
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::vector<std::size_t> tensor_of_layer;  ///< which tensor holds a layer's output
  std::size_t first_trained = 0;             ///< the first step with weights; gradients stop there
};

/// The steps of a model; a model that cannot be laid out is an invalid_config error.
[[nodiscard]] Plan make_plan(const ModelSpec& spec);

}  // namespace feroma::detail
