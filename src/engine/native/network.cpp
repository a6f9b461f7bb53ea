#include "engine/native/network.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma::detail {

std::size_t padded_features(std::size_t features) {
  constexpr auto kStep = static_cast<std::size_t>(kGroupLanes);
  return (features + kStep - 1) / kStep * kStep;
}

AlignedFloats::AlignedFloats(std::size_t size) : values_(hwy::AllocateAligned<float>(size)), size_(size) {
  require(values_ != nullptr, ErrorCode::internal, "[engine] no memory for {} values", size);
  clear_();
}

void AlignedFloats::clear_() { std::fill_n(values_.get(), size_, 0.0F); }

// ---- Memory ----

Network::Network(Plan plan) : plan_(std::move(plan)) {
  make_runs();
  allocate(kBlockGroups);
  capacity_ = kBlockGroups;
}

void Network::make_runs() {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    const bool by_group = plan_.steps[i].by_group();
    if (!runs_.empty() && runs_.back().by_group && by_group) {
      runs_.back().end = i + 1;
    } else {
      runs_.push_back({i, i + 1, by_group});
    }
  }
}

/// Mean pooling needs nothing of its picture afterwards, so the groups can use one place for it.
bool Network::keeps_activation(std::size_t tensor) const {
  const bool between_pictures = tensor > 0 && tensor < plan_.steps.size() && !plan_.tensors[tensor].packed;
  if (plan_.whole_batch || !between_pictures || plan_.steps[tensor].kind != StepKind::pool) {
    return true;
  }
  const StepKind before = plan_.steps[tensor - 1].kind;
  return before != StepKind::convolve && before != StepKind::pool;
}

/// Where the steps on both sides run group by group, no two groups need the gradient at the same time.
bool Network::keeps_gradient(std::size_t tensor) const {
  return plan_.whole_batch || tensor == plan_.steps.size() || !plan_.steps[tensor - 1].by_group() ||
         !plan_.steps[tensor].by_group();
}

void Network::allocate(int count) {
  activations_.clear();
  gradients_.clear();
  const auto groups = static_cast<std::size_t>(count);
  const auto values = [&](std::size_t size, bool kept) {
    return Values{AlignedFloats(size * (kept ? groups : 1)), kept ? size : 0};
  };
  for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
    const std::size_t size = plan_.tensors[i].group_size();
    activations_.push_back(i > 0 ? values(size, keeps_activation(i)) : Values{{}, size});
    gradients_.push_back(i > plan_.first_trained ? values(size, keeps_gradient(i)) : Values{});
  }
  sums_.clear();
  norms_.clear();
  blocked_.clear();
  sums_.resize(plan_.steps.size());
  norms_.resize(plan_.steps.size());
  blocked_.resize(plan_.steps.size());
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
    allocate_step(i, groups);
  }
  injection_ = {};
}

void Network::allocate_step(std::size_t step, std::size_t groups) {
  const Step& what = plan_.steps[step];
  const auto outputs = static_cast<std::size_t>(plan_.tensors[step + 1].extent.channels);
  const Tensor in = plan_.tensors[step].as_input();
  Sums& sums = sums_[step];
  Norm& norm = norms_[step];
  switch (what.kind) {
    case StepKind::convolve: {
      const auto channels = static_cast<std::size_t>(in.extent.channels);
      const auto taps = static_cast<std::size_t>(what.rows * what.columns);
      sums.wide = in.extent.channels >= kWideChannels;
      sums.biases = AlignedFloats(outputs * kGroupLanes);
      sums.weights = AlignedFloats(outputs * taps * (sums.wide ? padded_features(channels) : channels * kGroupLanes));
      if (sums.wide) {
        const auto pixels = static_cast<std::size_t>((in.extent.height + 2 * what.padding_rows) *
                                                     (in.extent.width + 2 * what.padding_columns));
        sums.transposed = AlignedFloats(pixels * kGroupLanes * padded_features(channels));
      }
      return;
    }
    case StepKind::linear:
      sums.biases = AlignedFloats(outputs * kGroupLanes);
      if (in.features() != padded_features(in.features())) {
        sums.weights = AlignedFloats(outputs * padded_features(in.features()));
      }
      sums.transposed = AlignedFloats(groups * kGroupLanes * padded_features(in.features()));
      return;
    case StepKind::scale:
    case StepKind::batch_norm:
      for (std::vector<float>* values : {&norm.means, &norm.variances, &norm.gains, &norm.offsets}) {
        values->assign(outputs, 0.0F);
      }
      for (AlignedFloats* values : {&sums.biases, &sums.weights, &norm.sums}) {
        *values = AlignedFloats(outputs * kGroupLanes);
      }
      return;
    case StepKind::layer_norm:
      for (AlignedFloats* values : {&sums.biases, &sums.weights, &norm.sums}) {
        *values = AlignedFloats(in.features() * kGroupLanes);
      }
      norm.statistics = AlignedFloats(2 * groups * kGroupLanes);
      return;
    case StepKind::pool:
      blocked_[step].resize(remembers_blocked(step) ? in.features() * groups * kBlockedBytes : 0);
      return;
    case StepKind::max_pool:
    case StepKind::elu:
    case StepKind::add: return;
  }
}

// ---- Places ----

float* Network::activation(std::size_t tensor, int group) const {
  if (tensor == 0) {  // the batch itself; steps only read their input
    return const_cast<float*>(input_) + static_cast<std::size_t>(group) * plan_.tensors[0].group_size() +
           plan_.tensors[0].first_pixel();
  }
  const Values& values = activations_[tensor];
  return values.floats.data() + static_cast<std::size_t>(group) * values.group_stride +
         plan_.tensors[tensor].first_pixel();
}

float* Network::gradient(std::size_t tensor, int group) const {
  const Values& values = gradients_[tensor];
  return values.floats.data() + static_cast<std::size_t>(group) * values.group_stride +
         plan_.tensors[tensor].first_pixel();
}

Picture Network::in_picture(std::size_t step, int group) const {
  return {activation(step, group), plan_.tensors[step].as_input().strides()};
}
Picture Network::out_picture(std::size_t step, int group) const {
  return {activation(step + 1, group), plan_.tensors[step + 1].strides()};
}
Picture Network::in_gradient(std::size_t step, int group) const {
  return {gradient(step, group), plan_.tensors[step].as_input().strides()};
}
Picture Network::out_gradient(std::size_t step, int group) const {
  return {gradient(step + 1, group), plan_.tensors[step + 1].strides()};
}

/// A step's input gradient is zero where the ReLU before it let nothing through.
const float* Network::mask(std::size_t step, int group) const {
  return plan_.steps[step - 1].masked_by_next() ? activation(step, group) : nullptr;
}

bool Network::remembers_blocked(std::size_t step) const {
  return step > plan_.first_trained && plan_.steps[step - 1].masked_by_next();
}

/// A pooling step remembers bits instead of the picture, so that all groups can use one place for it.
Blocked Network::blocked(std::size_t step, int group) {
  const std::size_t group_bytes = plan_.tensors[step].features() * kBlockedBytes;
  return blocked_[step].empty() ? Blocked{}
                                : Blocked{blocked_[step].data() + static_cast<std::size_t>(group) * group_bytes,
                                          plan_.tensors[step].as_input().extent.height};
}

Pooling Network::pooling(std::size_t step) const {
  const Tensor in = plan_.tensors[step].as_input();
  const Tensor& out = plan_.tensors[step + 1];
  return {plan_.steps[step].rows, plan_.steps[step].columns, in.extent, out.extent, in.strides(), out.strides()};
}

int Network::lanes_of(int group) const { return std::min(kGroupLanes, samples_ - group * kGroupLanes); }

// ---- Passes ----

void Network::begin(int samples) {
  samples_ = samples;
  groups_ = (samples + kGroupLanes - 1) / kGroupLanes;
  if (groups_ > capacity_) {
    capacity_ = 0;  // should memory run out half-way, the next pass starts over
    allocate(groups_);
    capacity_ = groups_;
  }
  injection_.active = false;
}

std::span<const float> Network::packed(std::size_t tensor, int group) const {
  return {activation(tensor, group), plan_.tensors[tensor].group_size()};
}

std::span<float> Network::packed_gradient(std::size_t tensor, int group) {
  return {gradient(tensor, group), plan_.tensors[tensor].group_size()};
}

void Network::inject(std::size_t tensor, int group, std::span<const float> values) {
  const std::size_t size = plan_.tensors[tensor].group_size();
  if (injection_.values.size() != size * static_cast<std::size_t>(capacity_)) {
    injection_.values = AlignedFloats(size * static_cast<std::size_t>(capacity_));
  }
  injection_.tensor = tensor;
  injection_.active = true;
  std::copy(values.begin(), values.end(), injection_.values.data() + static_cast<std::size_t>(group) * size);
}

void Network::forward(std::span<const float> params, Mode mode, std::size_t steps) {
  mode_ = mode;
  for (const Run& run : runs_) {
    for (int group = 0; group < (run.by_group ? groups_ : 1); ++group) {
      for (std::size_t step = run.begin; step < std::min(run.end, steps); ++step) {
        forward_step(step, group, params, mode);
      }
    }
  }
}

void Network::forward_step(std::size_t step, int group, std::span<const float> params, Mode mode) {
  const Step& what = plan_.steps[step];
  switch (what.kind) {
    case StepKind::convolve:
      if (pools_at_once(step)) {
        forward_pooled(step, group, params);
      } else {
        correlate(convolution_task(step, group, params));
      }
      return;
    case StepKind::linear: forward_linear(step, params); return;
    case StepKind::pool:
      if (step == 0 || !pools_at_once(step - 1)) {
        pool(pooling(step), activation(step, group), what.rectify, activation(step + 1, group), blocked(step, group));
      }
      return;
    case StepKind::max_pool: max_pool(pooling(step), activation(step, group), activation(step + 1, group)); return;
    case StepKind::elu: elu(extent(step), in_picture(step, group), out_picture(step, group)); return;
    case StepKind::scale: forward_scale(step, group, params); return;
    case StepKind::batch_norm: forward_batch_norm(step, params, mode); return;
    case StepKind::layer_norm: forward_layer_norm(step, group, params); return;
    case StepKind::add:
      add_pictures(extent(step), in_picture(step, group), in_picture(what.source, group), out_picture(step, group));
      return;
  }
  unreachable();
}

void Network::begin_gradient(std::span<float> gradient) {
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].biases.clear_();
    if (plan_.steps[i].kind != StepKind::linear) {  // the first pass overwrites those
      sums_[i].weights.clear_();
    }
  }
  result_ = gradient;
  first_pass_ = true;
}

void Network::backward(std::span<const float> params) {
  const std::size_t last = plan_.steps.size();
  for (int group = 0; group < groups_; ++group) {
    join_gradients(last, group);
    if (plan_.steps.back().masked_by_next()) {  // there is no next step
      block_gradient(extent(last), in_picture(last, group), in_gradient(last, group));
    }
  }
  for (std::size_t r = runs_.size(); r-- > 0;) {
    const Run& run = runs_[r];
    for (int group = 0; group < (run.by_group ? groups_ : 1); ++group) {
      for (std::size_t step = run.end; step-- > std::max(run.begin, plan_.first_trained);) {
        backward_step(step, group, params);
        if (step > plan_.first_trained) {
          for (int each = group; each < (run.by_group ? group + 1 : groups_); ++each) {
            join_gradients(step, each);
          }
        }
      }
    }
  }
  first_pass_ = false;
}

void Network::backward_step(std::size_t step, int group, std::span<const float> params) {
  switch (plan_.steps[step].kind) {
    case StepKind::convolve:
      if (unpools_at_once(step)) {
        backward_pooled(step, group);
      } else {
        backward_convolve(step, group, params);
      }
      return;
    case StepKind::linear: backward_linear(step, params); return;
    case StepKind::batch_norm: backward_batch_norm(step); break;
    case StepKind::pool:
      if (!unpools_at_once(step - 1)) {
        pool_gradient(pooling(step), gradient(step + 1, group), blocked(step, group), gradient(step, group));
      }
      return;
    case StepKind::max_pool:
    case StepKind::elu:
    case StepKind::scale:
    case StepKind::layer_norm:
    case StepKind::add: backward_values(step, group, params); break;
  }
  const bool by_group = plan_.steps[step].by_group();
  for (int each = group; each < (by_group ? group + 1 : groups_); ++each) {
    if (step > plan_.first_trained && plan_.steps[step - 1].masked_by_next()) {
      block_gradient(extent(step), in_picture(step, each), in_gradient(step, each));
    }
  }
}

void Network::backward_values(std::size_t step, int group, std::span<const float> params) {
  switch (plan_.steps[step].kind) {
    case StepKind::max_pool:
      max_pool_gradient(pooling(step), activation(step, group), activation(step + 1, group), gradient(step + 1, group),
                        gradient(step, group));
      return;
    case StepKind::elu:
      elu_gradient(extent(step), out_gradient(step, group), out_picture(step, group), in_gradient(step, group));
      return;
    case StepKind::scale: backward_scale(step, group, params); return;
    case StepKind::layer_norm: backward_layer_norm(step, group, params); return;
    case StepKind::add:
      pool_gradient({1, 1, extent(step), extent(step), plan_.tensors[step].as_input().strides(),
                     plan_.tensors[step + 1].strides()},
                    gradient(step + 1, group), {}, gradient(step, group));
      return;
    case StepKind::convolve:
    case StepKind::linear:
    case StepKind::pool:
    case StepKind::batch_norm: break;
  }
  unreachable();
}

/// What reaches a tensor beside the chain: the other end of a skip, and an injected gradient.
void Network::join_gradients(std::size_t step, int group) {
  bool joined = false;
  const auto join = [&](Picture from) {
    add_pictures(extent(step), in_gradient(step, group), from, in_gradient(step, group));
    joined = true;
  };
  for (std::size_t later = step; plan_.whole_batch && later < plan_.steps.size(); ++later) {
    if (plan_.steps[later].kind == StepKind::add && plan_.steps[later].source == step) {
      join(out_gradient(later, group));
    }
  }
  if (injection_.active && injection_.tensor == step) {
    const Tensor& tensor = plan_.tensors[step];
    join({injection_.values.data() + static_cast<std::size_t>(group) * tensor.group_size(),
          tensor.as_input().strides()});
  }
  if (joined && plan_.steps[step - 1].masked_by_next()) {
    block_gradient(extent(step), in_picture(step, group), in_gradient(step, group));
  }
}

}  // namespace feroma::detail
