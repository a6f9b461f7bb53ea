#include "engine/native/network.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

std::size_t padded_features(const Tensor& tensor) {
  constexpr auto kStep = static_cast<std::size_t>(kGroupLanes);
  return (tensor.features() + kStep - 1) / kStep * kStep;
}

Correlation convolution(const Step& step, const Tensor& in, const Tensor& out) {
  const std::ptrdiff_t area = std::ptrdiff_t{step.size} * step.size;
  Correlation task;
  task.in_extent = in.extent;
  task.out_extent = out.extent;
  task.in_strides = in.strides();
  task.in_tap = kGroupLanes;
  task.out_strides = out.strides();
  task.weight_out = in.extent.channels * area;
  task.weight_strides = {area, step.size, 1};
  task.kernel_height = step.size;
  task.kernel_width = step.size;
  task.padding_rows = step.padding;
  task.padding_columns = step.padding;
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

AlignedFloats::AlignedFloats(std::size_t size) : values_(hwy::AllocateAligned<float>(size)), size_(size) {
  require(values_ != nullptr, ErrorCode::internal, "[engine] no memory for {} values", size);
  clear_();
}

void AlignedFloats::clear_() { std::fill_n(values_.get(), size_, 0.0F); }

Network::Network(Plan plan) : plan_(std::move(plan)) {
  make_runs();
  const std::size_t count = plan_.steps.size();
  for (std::size_t i = 0; i <= count; ++i) {
    const std::size_t size = plan_.tensors[i].group_size();
    const bool kept = i == 0 || i == count || plan_.steps[i].kind != StepKind::pool || plan_.tensors[i].packed;
    activations_.push_back({AlignedFloats(size * (kept ? kBlockGroups : 1)), kept ? size : 0});
    gradients_.emplace_back();
    if (i > plan_.first_trained) {
      // Where the steps on both sides run group by group, no two groups need the gradient at the same time.
      const bool turns =
          i < count && plan_.steps[i - 1].kind != StepKind::linear && plan_.steps[i].kind != StepKind::linear;
      gradients_[i] = {AlignedFloats(size * (turns ? 1 : kBlockGroups)), turns ? 0 : size};
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Step& step = plan_.steps[i];
    const auto outputs = static_cast<std::size_t>(plan_.tensors[i + 1].extent.channels);
    sums_.emplace_back();
    blocked_.emplace_back();
    if (step.kind == StepKind::pool) {
      blocked_[i].resize(remembers_blocked(i) ? plan_.tensors[i].features() * kBlockGroups * kBlockedBytes : 0);
      continue;
    }
    sums_[i].biases = AlignedFloats(outputs * kGroupLanes);
    if (step.kind == StepKind::linear) {
      const std::size_t padded = padded_features(plan_.tensors[i]);
      sums_[i].weights = AlignedFloats(outputs * padded);
      sums_[i].transposed = AlignedFloats(kBlockLanes * padded);
    } else {
      const auto inputs = static_cast<std::size_t>(plan_.tensors[i].as_input().extent.channels * step.size * step.size);
      sums_[i].weights = AlignedFloats(outputs * inputs * kGroupLanes);
    }
  }
}

void Network::make_runs() {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const bool by_group = plan_.steps[i].kind != StepKind::linear;
    if (!runs_.empty() && runs_.back().by_group && by_group) {
      runs_.back().end = i + 1;
    } else {
      runs_.push_back({i, i + 1, by_group});
    }
  }
}

float* Network::activation(std::size_t tensor, int group) const {
  const Values& values = activations_[tensor];
  return values.floats.data() + static_cast<std::size_t>(group) * values.group_stride +
         plan_.tensors[tensor].first_pixel();
}

float* Network::gradient(std::size_t tensor, int group) const {
  const Values& values = gradients_[tensor];
  return values.floats.data() + static_cast<std::size_t>(group) * values.group_stride +
         plan_.tensors[tensor].first_pixel();
}

/// A step's input gradient is zero where the ReLU before it let nothing through.
const float* Network::mask(std::size_t step, int group) const {
  return plan_.steps[step - 1].rectify ? activation(step, group) : nullptr;
}

bool Network::remembers_blocked(std::size_t step) const {
  return step > plan_.first_trained && plan_.steps[step - 1].rectify;
}

/// A pooling step remembers bits instead of the picture, so that all groups can use one place for it.
std::uint8_t* Network::blocked(std::size_t step, int group) {
  const std::size_t group_bytes = plan_.tensors[step].features() * kBlockedBytes;
  return blocked_[step].empty() ? nullptr : blocked_[step].data() + static_cast<std::size_t>(group) * group_bytes;
}

void Network::set_input(std::span<const float> block, int groups) {
  groups_ = groups;
  const Tensor& input = plan_.tensors.front();
  const Strides strides = input.strides();
  const auto group_stride = static_cast<std::ptrdiff_t>(activations_.front().group_stride);
  const float* from = block.data();
  for (int channel = 0; channel < input.extent.channels; ++channel) {
    for (int y = 0; y < input.extent.height; ++y) {
      const std::ptrdiff_t row = channel * strides.channel + y * strides.row;
      split_groups(from, input.extent.width, groups, activation(0, 0) + row, group_stride);
      from += input.extent.width * kBlockLanes;
    }
  }
}

std::span<const float> Network::packed(std::size_t tensor, int group) const {
  return {activation(tensor, group), plan_.tensors[tensor].group_size()};
}

std::span<float> Network::logit_gradient(int group) {
  return {gradient(plan_.steps.size(), group), plan_.tensors.back().group_size()};
}

Pooling Network::pooling(std::size_t step) const {
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  return {plan_.steps[step].size, in.extent, out.extent, in.strides(), out.strides()};
}

void Network::forward(std::span<const float> params) {
  for (const Run& run : runs_) {
    for (int group = 0; group < (run.by_group ? groups_ : 1); ++group) {
      for (std::size_t step = run.begin; step < run.end; ++step) {
        forward_step(step, group, params);
      }
    }
  }
}

void Network::forward_step(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  switch (what.kind) {
    case StepKind::convolve: {
      Correlation task = convolution(what, plan_.tensors[step].as_input(), plan_.tensors[step + 1]);
      task.in = activation(step, group);
      task.out = activation(step + 1, group);
      task.weights = params.data() + what.weight;
      task.finish.bias = params.data() + what.bias;
      task.finish.rectify = what.rectify;
      correlate(task);
      return;
    }
    case StepKind::pool:
      pool(pooling(step), activation(step, group), what.rectify, activation(step + 1, group), blocked(step, group));
      return;
    case StepKind::linear: forward_linear(step, params); return;
  }
  unreachable();
}

/// A product of the weights with all groups at once: the groups are pixels and the features kernel columns.
Correlation Network::linear_task(std::size_t step) const {
  const auto inputs = static_cast<int>(plan_.tensors[step].features());
  Correlation task;
  task.kernel_width = inputs;
  task.in_extent = {1, 1, inputs + kBlockGroups};
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

void Network::clear_sums() {
  for (Sums& sums : sums_) {
    if (sums.biases.data() != nullptr) {
      sums.biases.clear_();
      sums.weights.clear_();
    }
  }
}

void Network::backward(std::span<const float> params) {
  for (std::size_t r = runs_.size(); r-- > 0;) {
    const Run& run = runs_[r];
    for (int group = 0; group < (run.by_group ? groups_ : 1); ++group) {
      for (std::size_t step = run.end; step-- > std::max(run.begin, plan_.first_trained);) {
        backward_step(step, group, params);
      }
    }
  }
}

void Network::backward_step(std::size_t step, int group, std::span<const float> params) {
  switch (plan_.steps[step].kind) {
    case StepKind::convolve: backward_convolve(step, group, params); return;
    case StepKind::pool:
      pool_gradient(pooling(step), gradient(step + 1, group), blocked(step, group), gradient(step, group));
      return;
    case StepKind::linear: backward_linear(step, params); return;
  }
  unreachable();
}

void Network::backward_convolve(std::size_t step, int group, std::span<const float> params) {
  const Step& what = plan_.steps[step];
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  const float* const out_gradient = gradient(step + 1, group);
  add_pixels(out_gradient, out.extent, out.strides(), sums_[step].biases.data());
  add_kernel_gradient({activation(step, group), out_gradient, sums_[step].weights.data(), in.extent, out.extent,
                       in.strides(), out.strides(), what.size, what.padding});
  if (step > plan_.first_trained) {
    Correlation task = turned(convolution(what, in, out));
    task.in = out_gradient;
    task.out = gradient(step, group);
    task.weights = params.data() + what.weight + what.size * what.size - 1;
    task.finish.mask = mask(step, group);
    correlate(task);
  }
}

void Network::transpose_input(std::size_t step) {
  const std::size_t features = plan_.tensors[step].features();
  const std::size_t padded = padded_features(plan_.tensors[step]);
  for (int group = 0; group < groups_; ++group) {
    const float* from = activation(step, group);
    float* const to = sums_[step].transposed.data() + static_cast<std::size_t>(group * kGroupLanes) * padded;
    for (std::size_t i = 0; i < features; ++i, from += kGroupLanes) {
      for (std::size_t lane = 0; lane < kGroupLanes; ++lane) {
        to[lane * padded + i] = from[lane];
      }
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
  transpose_input(step);
  const auto padded = static_cast<std::ptrdiff_t>(padded_features(plan_.tensors[step]));
  const auto vectors = static_cast<int>(padded / kGroupLanes);
  Correlation weights;
  weights.in = sums_[step].transposed.data();
  weights.weights = gradient(step + 1, 0);
  weights.out = sums_[step].weights.data();
  weights.in_extent = {groups_, 1, vectors + kGroupLanes};
  weights.out_extent = {out.extent.channels, 1, vectors};
  weights.in_strides = {kGroupLanes * padded, 0, kGroupLanes};
  weights.in_tap = padded;
  weights.out_strides = {padded, 0, kGroupLanes};
  weights.weight_out = kGroupLanes;
  weights.weight_strides = {out_stride, 0, 1};
  weights.kernel_width = kGroupLanes;
  weights.finish.accumulate = true;
  correlate(weights);

  if (step > plan_.first_trained) {
    Correlation task = linear_task(step);
    const std::ptrdiff_t inputs = task.weight_out;
    task.kernel_width = task.out_extent.channels;
    task.in_extent.width = task.kernel_width + kBlockGroups;
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

void Network::finish_gradient(std::span<float> gradient) const {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const Step& step = plan_.steps[i];
    if (step.kind == StepKind::pool) {
      continue;
    }
    const Tensor in = plan_.tensors[i].as_input();
    const auto outputs = static_cast<std::size_t>(plan_.tensors[i + 1].extent.channels);
    reduce_lanes(sums_[i].biases.data(), gradient.subspan(step.bias, outputs));
    if (step.kind == StepKind::convolve) {
      const auto inputs = static_cast<std::size_t>(in.extent.channels * step.size * step.size);
      reduce_lanes(sums_[i].weights.data(), gradient.subspan(step.weight, outputs * inputs));
      continue;
    }
    const std::size_t inputs = in.features();
    for (std::size_t o = 0; o < outputs; ++o) {
      std::copy_n(sums_[i].weights.data() + o * padded_features(in), inputs,
                  gradient.begin() + static_cast<std::ptrdiff_t>(step.weight + o * inputs));
    }
  }
}

}  // namespace feroma::detail
