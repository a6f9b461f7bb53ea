#include "engine/torch_engine.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "engine/checks.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// A tensor over memory that somebody else owns; no copy. libtorch has no const tensors, so callers only read it.
at::Tensor view_of(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);
}

std::vector<at::Tensor> views_of(const Parameters& params) {
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    tensors.push_back(view_of(params.segment(i), params.layout().segments[i].shape));
  }
  return tensors;
}

at::Tensor input_of(const Batch& batch) {
  return view_of(batch.inputs, {batch.size, batch.shape.channels, batch.shape.height, batch.shape.width});
}

/// The sum over groups of `size` neighbours along `dim`; a remainder is left out.
at::Tensor sum_neighbours(const at::Tensor& x, std::int64_t dim, std::int64_t size) {
  const std::int64_t groups = x.size(dim) / size;
  const std::vector<at::Tensor> parts =
      x.narrow(dim, 0, groups * size).unflatten(dim, at::IntArrayRef{groups, size}).unbind(dim + 1);
  at::Tensor sum = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    sum = sum + parts[i];
  }
  return sum;
}

/// Mean pooling by whole-tensor sums: a one-thread LeNet-5 step takes 10 to 15 % less time than with at::avg_pool2d.
at::Tensor mean_pool(const at::Tensor& x, std::int64_t size) {
  return sum_neighbours(sum_neighbours(x, 2, size), 3, size) * (1.0 / static_cast<double>(size * size));
}

/**
 * Walks the layers of a model. Activations stay 4-D and a linear layer is a 1 x 1 convolution: libtorch hands
 * convolutions to oneDNN, but plain products to the installed BLAS, which may be slow and differs between machines.
 */
class Walk {
 public:
  explicit Walk(std::span<const at::Tensor> tensors) : tensors_(tensors) {}

  at::Tensor operator()(const Conv2d& layer, const at::Tensor& x) {
    const at::Tensor& kernel = take();
    return at::conv2d(x, kernel, /*bias=*/take(), /*stride=*/1, layer.padding);
  }
  at::Tensor operator()(const Relu&, const at::Tensor& x) { return at::relu(x); }
  at::Tensor operator()(const AvgPool& layer, const at::Tensor& x) { return mean_pool(x, layer.size); }
  at::Tensor operator()(const Flatten&, const at::Tensor& x) { return x.reshape({x.size(0), -1, 1, 1}); }
  at::Tensor operator()(const Linear&, const at::Tensor& x) {
    const at::Tensor kernel = take().unsqueeze(-1).unsqueeze(-1);
    return at::conv2d(x, kernel, /*bias=*/take());
  }

 private:
  const at::Tensor& take() { return tensors_[next_++]; }

  std::span<const at::Tensor> tensors_;
  std::size_t next_ = 0;
};

at::Tensor cross_entropy(const at::Tensor& logits, const Batch& batch) {
  const at::Tensor labels = at::from_blob(const_cast<std::int32_t*>(batch.labels.data()), {batch.size}, at::kInt);
  const at::Tensor targets = labels.to(at::kLong);
  const at::Tensor log_probabilities = at::log_softmax(logits, /*dim=*/1);
  if (batch.weights.empty()) {
    return at::nll_loss(log_probabilities, targets);
  }
  const at::Tensor losses = at::nll_loss(log_probabilities, targets, /*weight=*/{}, at::Reduction::None);
  return (losses * view_of(batch.weights, {batch.size})).sum() / batch.size;
}

std::vector<float> values_of(const at::Tensor& tensor) {
  const at::Tensor dense = tensor.contiguous();
  const float* first = dense.data_ptr<float>();
  return {first, first + dense.numel()};
}

class TorchEngine final : public Engine {
 public:
  explicit TorchEngine(const ModelSpec& spec) : spec_(spec), param_layout_(make_layout(spec)) {}

  std::string_view name() const override { return "torch"; }
  BatchLayout layout() const override { return BatchLayout::sample_major; }

  double gradient(Parameters& params, const Batch& batch, std::span<float> gradient) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    require_targets(spec_, batch);
    require(gradient.size() == params.size(), ErrorCode::internal,
            "[engine] the gradient has {} values, got room for {}", params.size(), gradient.size());
    std::vector<at::Tensor> leaves = views_of(params);
    for (at::Tensor& leaf : leaves) {
      leaf.set_requires_grad(true);
    }
    Walk walk(leaves);
    at::Tensor x = input_of(batch);
    for (const Layer& layer : spec_.layers) {
      x = std::visit([&](const auto& one) { return walk(one, x); }, layer);
    }
    const at::Tensor loss = cross_entropy(x.flatten(1), batch);
    const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, leaves);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Segment& segment = param_layout_->segments[i];
      at::from_blob(gradient.data() + segment.offset, segment.shape, at::kFloat).copy_(gradients[i]);
    }
    return loss.item<double>();
  }

  Activations forward(const Parameters& params, const Batch& batch, Latent latent) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> tensors = views_of(params);
    const std::size_t latent_index = latent_layer(spec_, latent);
    Walk walk(tensors);
    at::Tensor x = input_of(batch);
    Activations out;
    out.size = batch.size;
    out.classes = spec_.classes;
    out.latent_size = latent_size(spec_, latent);
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      x = std::visit([&](const auto& one) { return walk(one, x); }, spec_.layers[i]);
      if (i == latent_index) {
        out.latents = values_of(x);
      }
    }
    out.logits = values_of(x);
    return out;
  }

 private:
  ModelSpec spec_;
  std::shared_ptr<const ParamLayout> param_layout_;
};

}  // namespace

bool torch_available() { return true; }

std::unique_ptr<Engine> make_torch_engine(const ModelSpec& spec) {
  prepare_torch_thread();
  return std::make_unique<TorchEngine>(spec);
}

void prepare_torch_thread() { at::set_num_threads(1); }

}  // namespace feroma
