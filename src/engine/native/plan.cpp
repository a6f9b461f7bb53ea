#include "engine/native/plan.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

Extent extent_of(SampleShape shape) { return {shape.channels, shape.height, shape.width}; }

class Planner {
 public:
  explicit Planner(const ModelSpec& spec) : layout_(make_layout(spec)) {
    plan_.tensors.push_back({extent_of(spec.input)});
    for (std::size_t i = 0; i < spec.layers.size(); ++i) {
      out_ = extent_of(output_shape(spec, i + 1));
      std::visit([this](const auto& layer) { add(layer); }, spec.layers[i]);
      plan_.tensor_of_layer.push_back(plan_.tensors.size() - 1);
    }
    pack();
  }

  [[nodiscard]] Plan take() {
    require(trained_, ErrorCode::unsupported, "[engine] the native engine needs a model with weights");
    require(next_segment_ == layout_->segments.size(), ErrorCode::internal,
            "[engine] the native engine must read all {} tensors of a model, and its layers take {}",
            layout_->segments.size(), next_segment_);
    return std::move(plan_);
  }

 private:
  void add(const Conv2d& layer) { convolve(layer.kernel, layer.kernel, layer.padding, layer.padding); }
  void add(const Conv1d& layer) { convolve(1, layer.kernel, 0, layer.padding); }
  void add(const Relu&) {
    // What came before the ReLU must not be overwritten where it is the flatten latent or the start of a skip.
    if (plan_.steps.empty() || last().flattened || is_kept() || !fuses_relu(plan_.steps.back().kind)) {
      copy();
    }
    plan_.steps.back().rectify = true;
  }
  void add(const Elu&) { add_step({.kind = StepKind::elu}, {last().as_input().extent}); }
  void add(const AvgPool& layer) { pool(StepKind::pool, layer.size); }
  void add(const MaxPool& layer) { pool(StepKind::max_pool, layer.size); }
  void add(const BatchNorm&) {
    plan_.normalises = true;
    plan_.whole_batch = true;
    Step step{.kind = StepKind::batch_norm};
    step.mean = layout_->segments[next_segment_ + 2].offset;
    step.variance = layout_->segments[next_segment_ + 3].offset;
    step.count = layout_->segments[next_segment_ + 4].offset;
    add_trained(step, {last().as_input().extent});
    next_segment_ += 3;
  }
  void add(const LayerNorm&) {
    pack();
    add_trained({.kind = StepKind::layer_norm}, {last().as_input().extent, 0, true});
  }
  void add(const ChannelScale&) { add_trained({.kind = StepKind::scale}, {last().as_input().extent}); }
  void add(const SkipBegin&) {
    plan_.whole_batch = true;
    kept_.push_back(plan_.tensors.size() - 1);
  }
  void add(const SkipEnd&) {
    Step step{.kind = StepKind::add};
    step.source = kept_.back();
    kept_.pop_back();
    add_step(step, {last().as_input().extent});
  }
  void add(const Flatten&) {
    if (is_kept()) {  // a skip goes on with the picture
      copy();
    }
    pack();
    last().flattened = true;
  }
  void add(const Linear&) {
    pack();
    add_trained({.kind = StepKind::linear}, {out_, 0, true});
  }

  static bool fuses_relu(StepKind kind) {
    switch (kind) {
      case StepKind::convolve:
      case StepKind::pool:
      case StepKind::linear:
      case StepKind::batch_norm:
      case StepKind::scale: return true;
      case StepKind::max_pool:
      case StepKind::elu:
      case StepKind::layer_norm:
      case StepKind::add: return false;
    }
    unreachable();
  }
  [[nodiscard]] bool is_kept() const {
    return std::find(kept_.begin(), kept_.end(), plan_.tensors.size() - 1) != kept_.end();
  }
  void convolve(int rows, int columns, int padding_rows, int padding_columns) {
    if (last().packed && padding_columns > 0) {
      copy();
    }
    last().border = std::max(last().border, padding_columns);
    // The input gradient correlates with the turned kernel; its tiles read this far beside the output's gradient.
    const int reach = trained_ ? std::clamp(columns - 1 - padding_columns, 0, kTilePixels - 1) : 0;
    add_trained({.kind = StepKind::convolve,
                 .rows = rows,
                 .columns = columns,
                 .padding_rows = padding_rows,
                 .padding_columns = padding_columns},
                {out_, reach});
  }
  void pool(StepKind kind, int size) {
    add_step({.kind = kind, .rows = window_rows(size, last().as_input().extent.height), .columns = size}, {out_});
  }

  Tensor& last() { return plan_.tensors.back(); }

  void add_step(Step step, Tensor out) {
    plan_.steps.push_back(step);
    plan_.tensors.push_back(out);
  }
  void add_trained(Step step, Tensor out) {
    step.weight = layout_->segments[next_segment_].offset;
    step.bias = layout_->segments[next_segment_ + 1].offset;
    next_segment_ += 2;
    if (!trained_) {
      plan_.first_trained = plan_.steps.size();
      trained_ = true;
    }
    add_step(step, out);
  }
  void copy() { add_step({}, {last().as_input().extent}); }

  /// Makes the last tensor one vector per sample.
  void pack() {
    if (last().border > 0) {
      copy();
      if (!plan_.tensor_of_layer.empty()) {
        plan_.tensor_of_layer.back() = plan_.tensors.size() - 1;
      }
    }
    last().packed = true;
  }

  std::shared_ptr<const ParamLayout> layout_;
  std::size_t next_segment_ = 0;
  bool trained_ = false;
  std::vector<std::size_t> kept_;  ///< tensors where skips began that have not ended
  Extent out_;
  Plan plan_;
};

}  // namespace

bool Step::trained() const {
  switch (kind) {
    case StepKind::convolve:
    case StepKind::linear:
    case StepKind::scale:
    case StepKind::batch_norm:
    case StepKind::layer_norm: return true;
    case StepKind::pool:
    case StepKind::max_pool:
    case StepKind::elu:
    case StepKind::add: return false;
  }
  unreachable();
}

bool Step::by_group() const {
  switch (kind) {
    case StepKind::linear:
    case StepKind::batch_norm: return false;
    case StepKind::convolve:
    case StepKind::pool:
    case StepKind::max_pool:
    case StepKind::elu:
    case StepKind::scale:
    case StepKind::layer_norm:
    case StepKind::add: return true;
  }
  unreachable();
}

bool Step::masked_by_next() const {
  switch (kind) {
    case StepKind::convolve:
    case StepKind::pool:
    case StepKind::linear: return rectify;
    case StepKind::max_pool:
    case StepKind::elu:
    case StepKind::scale:
    case StepKind::batch_norm:
    case StepKind::layer_norm:
    case StepKind::add: return false;
  }
  unreachable();
}

Strides Tensor::strides() const {
  const std::ptrdiff_t row = std::ptrdiff_t{extent.width + 2 * border} * kGroupLanes;
  return {row * extent.height, row, kGroupLanes};
}

std::size_t Tensor::group_size() const {
  return static_cast<std::size_t>(strides().channel) * static_cast<std::size_t>(extent.channels);
}

std::size_t Tensor::features() const {
  return static_cast<std::size_t>(extent.channels) * static_cast<std::size_t>(extent.height * extent.width);
}

Tensor Tensor::as_input() const {
  Tensor tensor = *this;
  if (flattened) {
    tensor.extent = {extent.channels * extent.height * extent.width, 1, 1};
  }
  return tensor;
}

Plan make_plan(const ModelSpec& spec) { return Planner(spec).take(); }

}  // namespace feroma::detail
