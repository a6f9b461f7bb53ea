#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "feroma/algorithms/foogd.h"

namespace feroma {

/// Two samples of the same width, row by row, and the scores of a model at each of their rows.
struct ScoredSamples {
  std::span<const float> a;
  std::span<const float> scores_a;
  std::span<const float> b;
  std::span<const float> scores_b;
  std::size_t width = 0;
};

/// A discrepancy and its gradients.
struct Stein {
  double value = 0;
  std::vector<float> a;
  std::vector<float> scores_a;
  std::vector<float> b;
  std::vector<float> scores_b;
};

/// The kernel width 2 sqrt(1 / (2 ln(n + 1))) sqrt(median squared distance / 2) between rows of two samples.
[[nodiscard]] double stein_width(std::span<const float> a, std::span<const float> b, std::size_t width);

/**
 * The kernel Stein discrepancy (Liu et al., 2016) between the scores' density and the samples, with the kernel
 * exp(-r / h^2): the mean over all pairs of a row of `a` and one of `b`, so near 0 where both follow the density.
 * The kernel width counts as a constant, and where asked for so do the kernel's derivatives within the discrepancy: of
 * what depends on rows alone, only the kernel in scores . scores * kernel is then followed, or that and the trace.
 */
[[nodiscard]] Stein stein_discrepancy(const ScoredSamples& samples, double kernel_width,
                                      KernelGradients gradients = KernelGradients::follow);

/// A discrepancy and its gradient over the second sample.
struct Discrepancy {
  double value = 0;
  std::vector<float> gradient;
};
/// The mean squared distance between different rows of both samples.
[[nodiscard]] double mean_squared_distance(std::span<const float> a, std::span<const float> b, std::size_t width);
/// The squared maximum mean discrepancy (Gretton et al., 2012) with the kernels exp(-r / scale) and exp(-2r / scale);
/// 0 where the scale is, for then all rows are the same.
[[nodiscard]] Discrepancy mean_discrepancy(std::span<const float> a, std::span<const float> b, std::size_t width,
                                           double scale);

}  // namespace feroma
