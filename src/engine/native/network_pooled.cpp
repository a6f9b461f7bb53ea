// Convolutions whose output nobody but a mean pooling sees. Both are done together on parts of the picture that stay in
// the first-level cache; one place holds every part in turn.
#include <algorithm>

#include "engine/native/network.h"

namespace feroma::detail {
namespace {

/// Some channels of the convolution's output, and the rows under some rows of pooling windows.
struct Part {
  Extent extent;  ///< of the convolution's output, closely packed
  int channel = 0;
  int row = 0;
  int pooled_row = 0;
  int pooled_rows = 0;

  [[nodiscard]] Strides strides() const {
    const std::ptrdiff_t row_stride = std::ptrdiff_t{extent.width} * kGroupLanes;
    return {row_stride * extent.height, row_stride, kGroupLanes};
  }
};

/// Rows below the last whole window belong to no part.
template <class Work>
void for_each_part(const Pooling& whole, int most_channels, Work work) {
  int channels = 0;
  for (int channel = 0; channel < whole.in_extent.channels; channel += channels) {
    channels = nearly_equal_part(whole.in_extent.channels - channel, most_channels);
    const std::ptrdiff_t window_bytes =
        std::ptrdiff_t{channels} * whole.rows * whole.in_extent.width * kGroupLanes * std::ptrdiff_t{sizeof(float)};
    const int most_rows = static_cast<int>(std::max(std::ptrdiff_t{1}, kPartBytes / window_bytes));
    int rows = 0;
    for (int y = 0; y < whole.out_extent.height; y += rows) {
      rows = nearly_equal_part(whole.out_extent.height - y, most_rows);
      work(Part{{channels, rows * whole.rows, whole.in_extent.width}, channel, y * whole.rows, y, rows});
    }
  }
}

Pooling pooling_of(const Pooling& whole, const Part& part) {
  Pooling task = whole;
  task.in_extent = part.extent;
  task.in_strides = part.strides();
  task.out_extent.channels = part.extent.channels;
  task.out_extent.height = part.pooled_rows;
  return task;
}

std::ptrdiff_t pooled_offset(const Pooling& whole, const Part& part) {
  return part.channel * whole.out_strides.channel + part.pooled_row * whole.out_strides.row;
}

Blocked blocked_of(Blocked whole, const Part& part) { return {whole.bits, whole.height, part.channel, part.row}; }

}  // namespace

bool Network::pools_at_once(std::size_t step) const {
  return plan_.steps[step].kind == StepKind::convolve && step + 1 < plan_.steps.size() &&
         plan_.steps[step + 1].kind == StepKind::pool && !keeps_activation(step + 1);
}

void Network::forward_pooled(std::size_t step, int group, std::span<const float> params) {
  const Correlation convolution = convolution_task(step, group, params);
  const Pooling whole = pooling(step + 1);
  for_each_part(whole, kTileOutputs, [&](const Part& part) {
    Correlation task = convolution;
    task.out_extent = part.extent;
    task.out_strides = part.strides();
    task.padding_rows -= part.row;
    task.weights += part.channel * task.weight_out;
    task.finish.bias += part.channel;
    correlate(task);
    pool(pooling_of(whole, part), task.out, plan_.steps[step + 1].rectify,
         activation(step + 2, group) + pooled_offset(whole, part), blocked_of(blocked(step + 1, group), part));
  });
}

/// Only where no input gradient is wanted: that needs the output's gradient as a whole.
bool Network::unpools_at_once(std::size_t step) const {
  return pools_at_once(step) && step == plan_.first_trained && !sums_[step].wide;
}

void Network::backward_pooled(std::size_t step, int group) {
  const KernelGradient kernel = kernel_gradient_task(step, group);
  const Pooling whole = pooling(step + 1);
  const std::ptrdiff_t sums_per_output =
      std::ptrdiff_t{kernel.in_extent.channels} * kernel.kernel_rows * kernel.kernel_columns * kGroupLanes;
  for_each_part(whole, gradient_outputs(), [&](const Part& part) {
    KernelGradient task = kernel;
    task.out_extent = part.extent;
    task.out_strides = part.strides();
    task.padding_rows -= part.row;
    task.sums += part.channel * sums_per_output;
    float* const biases = sums_[step].biases.data() + part.channel * kGroupLanes;
    if (task.bias_sums != nullptr) {
      task.bias_sums = biases;
    }
    float* const spread = gradient(step + 1, group);
    pool_gradient(pooling_of(whole, part), gradient(step + 2, group) + pooled_offset(whole, part),
                  blocked_of(blocked(step + 1, group), part), spread);
    if (task.bias_sums == nullptr) {
      add_pixels(spread, task.out_extent, task.out_strides, biases);
    }
    add_kernel_gradient(task);
  });
}

}  // namespace feroma::detail
