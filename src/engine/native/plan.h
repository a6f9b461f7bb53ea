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

enum class StepKind { convolve, pool, linear, max_pool, elu, scale, batch_norm, layer_norm, add };

/// One step from tensors[i] to tensors[i + 1], where i is the step's position.
struct Step {
  StepKind kind = StepKind::pool;
  bool rectify = false;  ///< a ReLU follows at once
  int rows = 1;          ///< of the kernel or window
  int columns = 1;
  int padding_rows = 0;
  int padding_columns = 0;
  std::size_t weight = 0;  ///< offset in the parameters
  std::size_t bias = 0;
  std::size_t mean = 0;  ///< batch_norm: where its running statistics are
  std::size_t variance = 0;
  std::size_t count = 0;
  std::size_t source = 0;  ///< add: the tensor that is added

  [[nodiscard]] bool trained() const;
  /// Runs group by group, so that a group's activations stay in the cache.
  [[nodiscard]] bool by_group() const;
  /// The step after it must zero the gradient where the ReLU let nothing through; other steps do so themselves.
  [[nodiscard]] bool masked_by_next() const;
};

/**
 * A model as a chain of steps. A ReLU is part of the step before it; where there is none, or where a border has to come
 * or go, a mean over 1 x 1 windows copies. Skips lead from a tensor to the `add` step that takes it up.
 */
struct Plan {
  std::vector<Tensor> tensors;
  std::vector<Step> steps;
  std::vector<std::size_t> tensor_of_layer;  ///< which tensor holds a layer's output
  std::size_t first_trained = 0;             ///< the first step with weights; gradients stop there
  bool normalises = false;                   ///< has running statistics (batch_norm)
  bool whole_batch = false;                  ///< samples of a batch meet (batch_norm), or steps far apart do (skips)
};

/// The steps of a model; a model that cannot be laid out is an invalid_config error.
[[nodiscard]] Plan make_plan(const ModelSpec& spec);

}  // namespace feroma::detail
