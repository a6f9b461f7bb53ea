// The steps with weights: convolutions and linear layers.
#include <algorithm>

#include "engine/native/network.h"

namespace feroma::detail {
namespace {

/// Transposed input rows that are worked on at a time stay in the second-level cache.
constexpr std::ptrdiff_t kCachedFloats = 64 * 1024;

Correlation convolution(const Step& step, const Tensor& in, const Tensor& out) {
  const std::ptrdiff_t area = std::ptrdiff_t{step.rows} * step.columns;
  Correlation task;
  task.in_extent = in.extent;
  task.out_extent = out.extent;
  task.in_strides = in.strides();
  task.in_tap = kGroupLanes;
  task.out_strides = out.strides();
  task.weight_out = in.extent.channels * area;
  task.weight_strides = {area, step.columns, 1};
  task.kernel_height = step.rows;
  task.kernel_width = step.columns;
  task.padding_rows = step.padding_rows;
  task.padding_columns = step.padding_columns;
  return task;
}

/// The input gradient is a correlation of the output's gradient with the kernel turned by half a turn.
Correlation turned(const Correlation& forward) {
  Correlation task = forward;
  std::swap(task.in_extent, task.out_extent);
  std::swap(task.in_strides, task.out_strides);
  task.weight_out = forward.weight_strides.channel;
  task.weight_strides = {forward.weight_out, -forward.weight_strides.row, -1};
  task.padding_rows = forward.kernel_height - 1 - forward.padding_rows;
  task.padding_columns = forward.kernel_width - 1 - forward.padding_columns;
  return task;
}

}  // namespace

Correlation Network::convolution_task(std::size_t step, int group, std::span<const float> params) const {
  const Step& what = plan_.steps[step];
  Correlation task = convolution(what, plan_.tensors[step].as_input(), plan_.tensors[step + 1]);
  task.in = activation(step, group);
  task.out = activation(step + 1, group);
  task.weights = params.data() + what.weight;
  task.finish.bias = params.data() + what.bias;
  task.finish.rectify = what.rectify;
  return task;
}

KernelGradient Network::kernel_gradient_task(std::size_t step, int group) const {
  const Step& what = plan_.steps[step];
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  KernelGradient task;
  task.in = activation(step, group);
  task.out_gradient = gradient(step + 1, group);
  task.sums = sums_[step].weights.data();
  // A kernel row without a shift lies over the whole output unless padding made that taller than the input.
  if (out.extent.height <= in.extent.height && what.padding_rows < what.rows) {
    task.bias_sums = sums_[step].biases.data();
    task.bias_row = what.padding_rows;
  }
  task.in_extent = in.extent;
  task.out_extent = out.extent;
  task.in_strides = in.strides();
  task.out_strides = out.strides();
  task.kernel_rows = what.rows;
  task.kernel_columns = what.columns;
  task.padding_rows = what.padding_rows;
  task.padding_columns = what.padding_columns;
  return task;
}

/// A product of the weights with all groups at once: the groups are pixels and the features kernel columns.
Correlation Network::linear_task(std::size_t step) const {
  const auto inputs = static_cast<int>(plan_.tensors[step].features());
  Correlation task;
  task.kernel_width = inputs;
  task.in_extent = {1, 1, inputs + groups_};
  task.out_extent = {plan_.tensors[step + 1].extent.channels, 1, groups_};
  task.in_strides.column = static_cast<std::ptrdiff_t>(activations_[step].group_stride);
  task.in_tap = kGroupLanes;
  task.out_strides = {kGroupLanes, 0, static_cast<std::ptrdiff_t>(activations_[step + 1].group_stride)};
  task.weight_out = inputs;
  task.weight_strides.column = 1;
  return task;
}

void Network::forward_linear(std::size_t step, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  Correlation task = linear_task(step);
  task.in = activation(step, 0);
  task.out = activation(step + 1, 0);
  task.weights = params.data() + what.weight;
  task.finish.bias = params.data() + what.bias;
  task.finish.rectify = what.rectify;
  correlate(task);
}

void Network::backward_convolve(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  const float* const from = gradient(step + 1, group);
  const KernelGradient kernel = kernel_gradient_task(step, group);
  if (sums_[step].wide || kernel.bias_sums == nullptr) {
    add_pixels(from, out.extent, out.strides(), sums_[step].biases.data());
  }
  if (sums_[step].wide) {
    add_wide_gradient(step, group);
  } else {
    add_kernel_gradient(kernel);
  }
  if (step > plan_.first_trained) {
    Correlation task = turned(convolution(what, in, out));
    task.in = from;
    task.out = gradient(step, group);
    task.weights = params.data() + what.weight + what.rows * what.columns - 1;
    task.finish.mask = mask(step, group);
    correlate(task);
  }
}

/**
 * With many input channels the vectors run over them instead of over samples: for each tap of the kernel, samples and
 * pixels are the taps of a product of output gradients with transposed inputs, and nothing is summed across a vector.
 */
void Network::add_wide_gradient(std::size_t step, int group) {
  const Step& what = plan_.steps[step];
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  float* const transposed = sums_[step].transposed.data();
  transpose({in.extent, in.strides(), what.padding_rows, what.padding_columns}, activation(step, group), transposed);
  const auto padded = static_cast<std::ptrdiff_t>(padded_features(static_cast<std::size_t>(in.extent.channels)));
  const std::ptrdiff_t column = padded * kGroupLanes;
  const std::ptrdiff_t row = (in.extent.width + 2 * what.padding_columns) * column;
  const auto vectors = static_cast<int>(padded / kGroupLanes);
  const int taps = what.rows * what.columns;
  Correlation task;
  task.out_extent = {out.extent.channels, 1, vectors};
  task.in_strides = {row, column, kGroupLanes};
  task.in_tap = padded;
  task.out_strides = {taps * padded, 0, kGroupLanes};
  task.weight_out = out.strides().channel;
  task.weight_strides = {out.strides().row, out.strides().column, 1};
  task.kernel_height = out.extent.width;
  task.kernel_width = kGroupLanes;
  task.finish.accumulate = true;
  const int rows = static_cast<int>(std::max(std::ptrdiff_t{1}, kCachedFloats / row));
  for (int y = 0; y < out.extent.height; y += rows) {
    task.in_extent = {std::min(rows, out.extent.height - y), out.extent.width, vectors + kGroupLanes};
    task.weights = gradient(step + 1, group) + y * out.strides().row;
    for (int tap = 0; tap < taps; ++tap) {
      task.in = transposed + (y + tap / what.columns) * row + tap % what.columns * column;
      task.out = sums_[step].weights.data() + tap * padded;
      correlate(task);
    }
  }
}

void Network::backward_linear(std::size_t step, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  const Tensor& out = plan_.tensors[step + 1];
  const auto out_stride = static_cast<std::ptrdiff_t>(gradients_[step + 1].group_stride);
  for (int group = 0; group < groups_; ++group) {
    add_pixels(gradient(step + 1, group), out.extent, out.strides(), sums_[step].biases.data());
  }

  // Samples are taps: vectors run over input features, so nothing has to be summed across a vector.
  const auto features = static_cast<int>(plan_.tensors[step].features());
  const auto padded = static_cast<std::ptrdiff_t>(padded_features(plan_.tensors[step].features()));
  for (int group = 0; group < groups_; ++group) {
    transpose({{features, 1, 1}, {kGroupLanes, 0, 0}}, activation(step, group),
              sums_[step].transposed.data() + group * kGroupLanes * padded);
  }
  const auto vectors = static_cast<int>(padded / kGroupLanes);
  Correlation weights;
  weights.in = sums_[step].transposed.data();
  weights.weights = gradient(step + 1, 0);
  weights.out = sums_[step].weights.size() > 0 ? sums_[step].weights.data() : result_.data() + what.weight;
  weights.in_extent = {groups_, 1, vectors + kGroupLanes};
  weights.out_extent = {out.extent.channels, 1, vectors};
  weights.in_strides = {kGroupLanes * padded, 0, kGroupLanes};
  weights.in_tap = padded;
  weights.out_strides = {padded, 0, kGroupLanes};
  weights.weight_out = kGroupLanes;
  weights.weight_strides = {out_stride, 0, 1};
  weights.kernel_width = kGroupLanes;
  weights.finish.accumulate = !first_pass_;
  correlate(weights);

  if (step > plan_.first_trained) {
    Correlation task = linear_task(step);
    const std::ptrdiff_t inputs = task.weight_out;
    task.kernel_width = task.out_extent.channels;
    task.in_extent.width = task.kernel_width + groups_;
    task.out_extent.channels = static_cast<int>(inputs);
    task.in_strides.column = out_stride;
    task.out_strides.column = static_cast<std::ptrdiff_t>(gradients_[step].group_stride);
    task.weight_out = 1;
    task.weight_strides.column = inputs;
    task.in = gradient(step + 1, 0);
    task.out = gradient(step, 0);
    task.weights = params.data() + what.weight;
    task.finish.mask = mask(step, 0);
    correlate(task);
  }
}

void Network::finish_gradient() const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (!step.trained()) {
      continue;
    }
    if (step.kind == StepKind::batch_norm) {  // its buffers lie side by side; only those that were used have a gradient
      std::fill(result_.begin() + static_cast<std::ptrdiff_t>(step.mean),
                result_.begin() + static_cast<std::ptrdiff_t>(step.count) + 1, 0.0F);
      std::copy(norms_[i].mean_gradients.begin(), norms_[i].mean_gradients.end(),
                result_.begin() + static_cast<std::ptrdiff_t>(step.mean));
      std::copy(norms_[i].variance_gradients.begin(), norms_[i].variance_gradients.end(),
                result_.begin() + static_cast<std::ptrdiff_t>(step.variance));
    }
    const Sums& sums = sums_[i];
    const std::size_t biases = sums.biases.size() / kGroupLanes;
    reduce_lanes(sums.biases.data(), result_.subspan(step.bias, biases));
    if (sums.weights.size() == 0) {
      continue;
    }
    const Tensor in = plan_.tensors[i].as_input();
    if (step.kind != StepKind::linear && !sums.wide) {
      reduce_lanes(sums.weights.data(), result_.subspan(step.weight, sums.weights.size() / kGroupLanes));
      continue;
    }
    // [output][tap][padded input] becomes [output][input][tap]; a linear layer has one tap.
    const auto taps = static_cast<std::size_t>(step.rows * step.columns);
    const std::size_t inputs =
        step.kind == StepKind::linear ? in.features() : static_cast<std::size_t>(in.extent.channels);
    const std::size_t padded = padded_features(inputs);
    float* to = result_.data() + step.weight;
    for (std::size_t o = 0; o < biases; ++o) {
      const float* const from = sums.weights.data() + o * taps * padded;
      if (taps == 1) {
        to = std::copy_n(from, inputs, to);
        continue;
      }
      for (std::size_t input = 0; input < inputs; ++input) {
        for (std::size_t tap = 0; tap < taps; ++tap) {
          *to++ = from[tap * padded + input];
        }
      }
    }
  }
}

}  // namespace feroma::detail
