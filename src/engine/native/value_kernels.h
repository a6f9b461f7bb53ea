#pragma once

#include "engine/native/kernels.h"

// Kernels that work on each value of one group's picture, [channel][row][column][16], whatever its strides.
namespace feroma::detail {

/// A picture that is read or written.
struct Picture {
  float* first = nullptr;
  Strides strides;
};

/// out = gain of the channel * in + offset of the channel, then perhaps a ReLU.
void scale_channels(Extent extent, Picture in, const float* gains, const float* offsets, bool rectify, Picture out);
/// sums[channel][lane] += a * b over the channel's pixels.
void add_products(Extent extent, Picture a, Picture b, float* sums);
/// sums[channel][lane] += (in - mean of the channel)^2.
void add_squares(Extent extent, Picture in, const float* means, float* sums);

/// out = gradient_factor * gradient + in_factor * in + constant, each per channel; zero in lanes without a sample.
struct Blend {
  const float* gradient_factors = nullptr;
  const float* in_factors = nullptr;
  const float* constants = nullptr;
  const float* used_lanes = nullptr;  ///< 16 values, not zero where the lane has a sample
};
void blend(Extent extent, const Blend& task, Picture gradient, Picture in, Picture out);

/// out = a + b.
void add_pictures(Extent extent, Picture a, Picture b, Picture out);
/// Zeroes `gradient` where `activation`, the output of a ReLU, is not above zero.
void block_gradient(Extent extent, Picture activation, Picture gradient);

/// x above zero, exp(x) - 1 below; and gradient * (1 above zero, out + 1 below).
void elu(Extent extent, Picture in, Picture out);
void elu_gradient(Extent extent, Picture gradient, Picture out, Picture in_gradient);

/// The windows' largest values; a value that is not a number counts as largest.
void max_pool(const Pooling& task, const float* in, float* out);
/// A window's gradient goes to the first of its largest values.
void max_pool_gradient(const Pooling& task, const float* in, const float* out, const float* out_gradient,
                       float* in_gradient);

/// Each of 16 samples over its own features: out = gain[f] * (in - mean) / deviation + offset[f]. The pictures are
/// [feature][16]; `statistics` remembers 16 means and 16 inverse deviations.
struct LayerNormTask {
  int features = 0;
  const float* gains = nullptr;
  const float* in = nullptr;
  float* statistics = nullptr;
};
void layer_norm(const LayerNormTask& task, const float* offsets, float* out);
/// Writes the gradient of `in`, and adds those of gains and offsets to [feature][16] sums.
void layer_norm_gradient(const LayerNormTask& task, const float* out_gradient, float* gain_sums, float* offset_sums,
                         float* in_gradient);

/// What keeps the inverse of a deviation finite, as in PyTorch.
constexpr float kNormEpsilon = 1e-5F;

}  // namespace feroma::detail
