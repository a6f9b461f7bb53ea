#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "engine/checks.h"
#include "engine/torch/script_engine.h"
#include "engine/torch/tensors.h"
#include "engine/torch_module.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

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
at::Tensor mean_pool(const at::Tensor& x, std::int64_t rows, std::int64_t columns) {
  return sum_neighbours(sum_neighbours(x, 2, rows), 3, columns) * (1.0 / static_cast<double>(rows * columns));
}

/**
 * Walks the layers of a model. Activations stay 4-D and a linear layer is a 1 x 1 convolution: libtorch hands
 * convolutions to oneDNN, but plain products to the installed BLAS, which may be slow and differs between machines.
 */
class Walk {
 public:
  /// `measured`, one tensor for each of the model's, gets the batch's own statistics; null: nobody asks.
  Walk(std::span<const at::Tensor> tensors, bool training, std::vector<at::Tensor>* measured)
      : tensors_(tensors), training_(training), measured_(measured) {}

  at::Tensor operator()(const Conv2d& layer, const at::Tensor& x) {
    const at::Tensor& kernel = take();
    return at::conv2d(x, kernel, /*bias=*/take(), /*stride=*/1, layer.padding);
  }
  at::Tensor operator()(const Conv1d& layer, const at::Tensor& x) {
    const at::Tensor kernel = take().unsqueeze(2);
    return at::conv2d(x, kernel, /*bias=*/take(), /*stride=*/1, /*padding=*/at::IntArrayRef{0, layer.padding});
  }
  at::Tensor operator()(const Relu&, const at::Tensor& x) { return at::relu(x); }
  at::Tensor operator()(const Elu&, const at::Tensor& x) { return at::elu(x); }
  at::Tensor operator()(const AvgPool& layer, const at::Tensor& x) {
    return mean_pool(x, window_rows(layer.size, static_cast<int>(x.size(2))), layer.size);
  }
  at::Tensor operator()(const MaxPool& layer, const at::Tensor& x) {
    return at::max_pool2d(x, {window_rows(layer.size, static_cast<int>(x.size(2))), layer.size});
  }
  at::Tensor operator()(const BatchNorm&, const at::Tensor& x) {
    const at::Tensor& gain = take();
    const at::Tensor& offset = take();
    const at::Tensor& mean = take();
    const at::Tensor& variance = take();
    at::Tensor count = take();
    if (training_) {
      require(x.numel() > x.size(1), ErrorCode::invalid_data,
              "[engine] batch normalisation needs more than one value per channel, got 1");
      count.add_(1);
    }
    if (measured_ != nullptr) {
      (*measured_)[next_ - 3] = x.mean({0, 2, 3});
      if (x.numel() > x.size(1)) {
        (*measured_)[next_ - 2] = x.var({0, 2, 3}, /*unbiased=*/true);
      }
    }
    if (!training_ && at::GradMode::is_enabled()) {  // the ready-made one has no gradient of running statistics
      const auto wide = [](const at::Tensor& values) { return values.reshape({1, -1, 1, 1}); };
      return (x - wide(mean)) * at::rsqrt(wide(variance) + 1e-5) * wide(gain) + wide(offset);
    }
    return at::batch_norm(x, gain, offset, mean, variance, training_, /*momentum=*/0.1, /*eps=*/1e-5,
                          /*cudnn_enabled=*/false);
  }
  at::Tensor operator()(const LayerNorm&, const at::Tensor& x) {
    const auto shape = x.sizes().slice(1);
    const at::Tensor gain = take().reshape(shape);
    return at::layer_norm(x, shape, gain, /*bias=*/take().reshape(shape), /*eps=*/1e-5);
  }
  at::Tensor operator()(const ChannelScale&, const at::Tensor& x) {
    const at::Tensor gain = take().reshape({1, -1, 1, 1});
    return x * gain + take().reshape({1, -1, 1, 1});
  }
  at::Tensor operator()(const SkipBegin&, const at::Tensor& x) {
    kept_.push_back(x);
    return x;
  }
  at::Tensor operator()(const SkipEnd&, const at::Tensor& x) {
    const at::Tensor sum = x + kept_.back();
    kept_.pop_back();
    return sum;
  }
  at::Tensor operator()(const Flatten&, const at::Tensor& x) { return x.reshape({x.size(0), -1, 1, 1}); }
  at::Tensor operator()(const Linear&, const at::Tensor& x) {
    const at::Tensor kernel = take().unsqueeze(-1).unsqueeze(-1);
    return at::conv2d(x, kernel, /*bias=*/take());
  }

  void expect_all_taken() const {
    require(next_ == tensors_.size(), ErrorCode::internal,
            "[engine] the torch engine must read all {} tensors of a model, and its layers take {}", tensors_.size(),
            next_);
  }

 private:
  const at::Tensor& take() { return tensors_[next_++]; }

  std::span<const at::Tensor> tensors_;
  bool training_;
  std::vector<at::Tensor>* measured_;
  std::size_t next_ = 0;
  std::vector<at::Tensor> kept_;
};

/// Computes in float32, or in float64 from the same float32 numbers where an oracle must be exact.
class TorchEngine final : public Engine {
 public:
  TorchEngine(const ModelSpec& spec, Precision precision)
      : spec_(spec),
        param_layout_(make_layout(spec)),
        type_(precision == Precision::float64 ? at::kDouble : at::kFloat) {}

  std::string_view name() const override { return "torch"; }
  BatchLayout layout() const override { return BatchLayout::sample_major; }

  double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                  std::span<float> gradient) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    require_objective(spec_, batch, objective);
    require(gradient.size() == params.size(), ErrorCode::internal,
            "[engine] the gradient has {} values, got room for {}", params.size(), gradient.size());
    const std::vector<at::Tensor> tensors = tensors_of(params);
    const bool training = objective.statistics == Statistics::batch;
    const auto is_leaf = [&](std::size_t i) {
      return !training || param_layout_->segments[i].kind != SegmentKind::buffer;
    };
    std::vector<at::Tensor> leaves;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (is_leaf(i)) {
        leaves.push_back(tensors[i].set_requires_grad(true));
      }
    }
    at::Tensor latent;
    const at::Tensor logits = run(tensors, batch, objective.latent, training, latent);
    const at::Tensor loss = mean_loss(logits, batch, objective.loss);
    const Total total = add_latent_loss(loss, latent, objective);
    // A weight that the loss does not reach has no gradient.
    const std::vector<at::Tensor> gradients =
        torch::autograd::grad({total.differentiable}, leaves, /*grad_outputs=*/{}, /*retain_graph=*/c10::nullopt,
                              /*create_graph=*/false, /*allow_unused=*/true);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Segment& segment = param_layout_->segments[i];
      if (!is_leaf(i)) {
        at::from_blob(params.segment(i).data(), segment.shape, at::kFloat).copy_(tensors[i]);
      } else if (const at::Tensor& one = gradients[leaf++]; one.defined()) {
        at::from_blob(gradient.data() + segment.offset, segment.shape, at::kFloat).copy_(one);
      }
    }
    return total.value;
  }

  Activations forward(const Parameters& params, const Batch& batch, Latent latent) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    const at::NoGradGuard no_grad;
    at::Tensor latents;
    const at::Tensor logits = run(tensors_of(params), batch, latent, /*training=*/false, latents);
    return {batch.size, spec_.classes, latent_size(spec_, latent), values_of(logits), values_of(latents)};
  }

  Parameters with_batch_statistics(const Parameters& params, const Batch& batch) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    const at::NoGradGuard no_grad;
    const std::vector<at::Tensor> tensors = tensors_of(params);
    std::vector<at::Tensor> measured = tensors;
    at::Tensor latent;
    run(tensors, batch, Latent::penultimate, /*training=*/false, latent, &measured);
    Parameters result = params.clone();
    for (std::size_t i = 0; i < measured.size(); ++i) {
      at::from_blob(result.segment(i).data(), param_layout_->segments[i].shape, at::kFloat).copy_(measured[i]);
    }
    return result;
  }

 private:
  [[nodiscard]] std::vector<at::Tensor> tensors_of(const Parameters& params) const {
    std::vector<at::Tensor> tensors;
    for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
      tensors.push_back(view_of(params.segment(i), params.layout().segments[i].shape).to(type_));
    }
    return tensors;
  }

  /// Logits of the batch; `latent` becomes the samples x features of the chosen layer where the model has it, and
  /// `measured` its statistics where they are asked for.
  at::Tensor run(std::span<const at::Tensor> tensors, const Batch& batch, Latent which, bool training,
                 at::Tensor& latent, std::vector<at::Tensor>* measured = nullptr) const {
    const std::optional<std::size_t> index = find_latent_layer(spec_, which);
    Walk walk(tensors, training, measured);
    at::Tensor x = input_of(batch).to(type_);
    for (std::size_t i = 0; i < spec_.layers.size(); ++i) {
      x = std::visit([&](const auto& one) { return walk(one, x); }, spec_.layers[i]);
      if (i == index) {
        latent = x.flatten(1);
      }
    }
    walk.expect_all_taken();
    return x.flatten(1);
  }

  ModelSpec spec_;
  std::shared_ptr<const ParamLayout> param_layout_;
  at::ScalarType type_;
};

void use_one_thread() { at::set_num_threads(1); }

std::unique_ptr<Engine> make_engine_on_one_thread(const ModelSpec& spec, Precision precision) {
  use_one_thread();
  if (spec.script) {
    require(precision == Precision::float32, ErrorCode::unsupported,
            "[engine] a TorchScript file computes in its own precision, float32");
    return make_script_engine(spec);
  }
  return std::make_unique<TorchEngine>(spec, precision);
}

}  // namespace
}  // namespace feroma

extern "C" [[gnu::visibility("default")]] const feroma::TorchModule* feroma_torch_module() {
  static constexpr feroma::TorchModule kModule{FEROMA_VERSION, feroma::make_engine_on_one_thread, feroma::read_script,
                                               feroma::use_one_thread};
  return &kModule;
}
