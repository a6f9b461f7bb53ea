#pragma once

#include <span>
#include <vector>

#include "feroma/core/parallel.h"
#include "feroma/models/parameters.h"

namespace feroma {

/**
 * Weighted sums of models: one output per row of `weights` (rows x sources, row-major). Sources are added in the given
 * order, zero weights are skipped, one fused multiply-add per element, so a row's result depends on nothing else.
 * Ranges of parameters are the tasks of `parallel`.
 */
[[nodiscard]] std::vector<Parameters> mix(std::span<const ParametersPtr> sources, std::span<const float> weights,
                                          const Parallel& parallel = in_turn);

/// Counts as shares of their sum; without any it is an internal error.
[[nodiscard]] std::vector<float> shares_of(std::span<const std::int64_t> counts);
/// The mean of models weighted by counts; nothing to average is an internal error.
[[nodiscard]] Parameters weighted_mean(std::span<const ParametersPtr> sources, std::span<const std::int64_t> counts);

/// now + momentum * (now - before): where a model is heading. Buffers are as they are now: a statistic has no momentum.
[[nodiscard]] Parameters extrapolate(const ParametersPtr& now, const ParametersPtr& before, double momentum);

}  // namespace feroma
