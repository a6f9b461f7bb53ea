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
    return std::move(plan_);
  }

 private:
  void add(const Conv2d& layer) {
    if (last().packed && layer.padding > 0) {
      copy();
    }
    last().border = std::max(last().border, layer.padding);
    // The input gradient correlates with the turned kernel; its tiles read this far beside the output's gradient.
    const int reach = trained_ ? std::clamp(layer.kernel - 1 - layer.padding, 0, kTilePixels - 1) : 0;
    add_trained({StepKind::convolve, false, layer.kernel, layer.padding, 0, 0}, {out_, reach});
  }
  void add(const Relu&) {
    // The flatten latent is what came before the ReLU, so it must not be overwritten.
    if (plan_.steps.empty() || last().flattened) {
      copy();
    }
    plan_.steps.back().rectify = true;
  }
  void add(const AvgPool& layer) { add_step({StepKind::pool, false, layer.size, 0, 0, 0}, {out_}); }
  void add(const Flatten&) {
    pack();
    last().flattened = true;
  }
  void add(const Linear&) {
    pack();
    add_trained({StepKind::linear, false, 1, 0, 0, 0}, {out_, 0, true});
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
  Extent out_;
  Plan plan_;
};

}  // namespace

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
