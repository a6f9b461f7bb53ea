#pragma once

#include "feroma/engine/objective.h"

namespace feroma::detail {

/// The losses of one group of 16 samples; logits, targets and gradient are [class][16].
struct LossTask {
  const float* logits = nullptr;
  int classes = 0;
  const double* labels = nullptr;  ///< cross_entropy: 16 class numbers
  const float* targets = nullptr;  ///< binary_cross_entropy
  const double* scales = nullptr;  ///< 16 factors of the losses, zero for lanes without a sample
};
/// Writes the gradient of the scaled losses over `gradient` and the 16 scaled losses over `losses`.
void losses_of_group(Loss loss, const LossTask& task, float* gradient, double* losses);

}  // namespace feroma::detail
