#include "engine/torch/script_engine.h"

#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/script.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

#include "engine/checks.h"
#include "engine/torch/tensors.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

/// A tensor of the module and how the layout calls it.
struct NamedTensor {
  std::string name;
  SegmentKind kind = SegmentKind::weight;
  at::Tensor tensor;
};

/// Parameters first, then buffers, each in the module's order.
std::vector<NamedTensor> tensors_of(const torch::jit::Module& module) {
  std::vector<NamedTensor> tensors;
  for (const auto& one : module.named_parameters(/*recurse=*/true)) {
    tensors.push_back({one.name, one.value.dim() > 1 ? SegmentKind::weight : SegmentKind::bias, one.value});
  }
  for (const auto& one : module.named_buffers(/*recurse=*/true)) {
    tensors.push_back({one.name, SegmentKind::buffer, one.value});
  }
  return tensors;
}

torch::jit::Module load_module(const std::string& path) {
  require(std::filesystem::is_regular_file(path), ErrorCode::invalid_config,
          "training.model must be a known name or a TorchScript file, got \"{}\", which is no file", path);
  try {
    return torch::jit::load(path, at::kCPU);
  } catch (const c10::Error& error) {
    fail(ErrorCode::invalid_config, "training.model must be a TorchScript file, got {}, which libtorch refuses: {}",
         path, error.what_without_backtrace());
  }
}

/// The last line of what libtorch says; the lines before it walk through the user's code.
std::string reason(const std::exception& error) {
  std::string text = error.what();
  text.erase(text.find_last_not_of('\n') + 1);
  return text.substr(text.find_last_of('\n') + 1);
}

/// Calls a method of the module; `code` says whose fault a refusal is.
at::Tensor call(torch::jit::Module& module, const std::string& path, const char* method, const at::Tensor& x,
                ErrorCode code) {
  std::string refusal;
  try {
    return module.get_method(method)({x}).toTensor();
  } catch (const c10::Error& error) {
    refusal = error.what_without_backtrace();
  } catch (const std::runtime_error& error) {  // what an operator inside the interpreter throws
    refusal = reason(error);
  }
  const at::IntArrayRef sizes = x.sizes();
  fail(code, "[model] {}(x) of {} refuses {} samples of {}: {}", method, path, sizes.front(),
       fmt::join(sizes.begin() + 1, sizes.end(), "x"), refusal);
}

ParametersPtr weights_of(const torch::jit::Module& module, const std::string& path) {
  auto layout = std::make_shared<ParamLayout>();
  const std::vector<NamedTensor> tensors = tensors_of(module);
  for (const NamedTensor& one : tensors) {
    require(one.kind == SegmentKind::buffer || one.tensor.scalar_type() == at::kFloat, ErrorCode::invalid_config,
            "training.model: every parameter of {} must be float32, got {} for {}", path,
            c10::toString(one.tensor.scalar_type()), one.name);
    // A number has no extents; in the buffer it takes one place.
    const auto sizes = one.tensor.sizes();
    layout->add(one.name, one.kind, sizes.empty() ? std::vector<std::int64_t>{1} : sizes.vec());
  }
  require(layout->size > 0, ErrorCode::invalid_config, "training.model: {} must have parameters, got none", path);
  Parameters params(layout);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<float> values = values_of(tensors[i].tensor.detach());
    std::copy(values.begin(), values.end(), params.segment(i).begin());
  }
  require(params.all_finite(), ErrorCode::invalid_config, "training.model: the weights of {} must be finite", path);
  return share(std::move(params));
}

/// The width of features(x), after making sure that the three methods belong together.
int checked_latent_size(torch::jit::Module& module, const std::string& path, SampleShape input, int classes) {
  for (const char* method : {"features", "head", "forward"}) {
    require(module.find_method(method).has_value(), ErrorCode::invalid_config,
            "training.model: {} must export {}, and does not", path, method);
  }
  const at::NoGradGuard no_grad;
  module.eval();
  constexpr int kTried = 2;
  const at::Tensor x = at::linspace(0, 1, std::int64_t{kTried} * input.size())
                           .reshape({kTried, input.channels, input.height, input.width});
  constexpr auto kCode = ErrorCode::invalid_config;
  const at::Tensor latent = call(module, path, "features", x, kCode);
  require(latent.dim() == 2 && latent.size(0) == kTried, kCode,
          "training.model: features(x) of {} must be samples x features, got {} dimensions for {} samples", path,
          latent.dim(), kTried);
  const at::Tensor logits = call(module, path, "head", latent, kCode);
  require(logits.dim() == 2 && logits.size(0) == kTried && logits.size(1) == classes, kCode,
          "training.model: head(z) of {} must give {} logits per sample, one for each class of the data, got {} "
          "values for {} samples",
          path, classes, logits.numel(), kTried);
  const at::Tensor whole = call(module, path, "forward", x, kCode);
  require(whole.sizes() == logits.sizes() && at::allclose(whole, logits, /*rtol=*/1e-4, /*atol=*/1e-5), kCode,
          "training.model: forward(x) of {} must be head(features(x)), and differs", path);
  return static_cast<int>(latent.size(1));
}

/// Trains the user's module: the flat buffer is copied into its tensors before every pass, buffers are copied back.
class ScriptEngine final : public Engine {
 public:
  explicit ScriptEngine(const ModelSpec& spec)
      : spec_(spec),
        layout_(make_layout(spec)),
        module_(load_module(spec.script->path)),
        tensors_(tensors_of(module_)) {
    require(weights_of(module_, spec.script->path)->layout() == *layout_, ErrorCode::invalid_config,
            "training.model: {} changed while it was in use", spec.script->path);
    for (const NamedTensor& one : tensors_) {
      if (one.kind != SegmentKind::buffer) {
        leaves_.push_back(one.tensor);
      }
    }
  }

  std::string_view name() const override { return "torch"; }
  BatchLayout layout() const override { return BatchLayout::sample_major; }

  double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                  std::span<float> gradient) override {
    require_parameters(*layout_, params);
    require_batch(spec_, layout(), batch);
    require_objective(spec_, batch, objective);
    require(gradient.size() == params.size(), ErrorCode::internal,
            "[engine] the gradient has {} values, got room for {}", params.size(), gradient.size());
    take(params);
    const bool training = objective.statistics == Statistics::batch;
    module_.train(training);
    for (at::Tensor& leaf : leaves_) {
      leaf.set_requires_grad(true);
    }
    const at::Tensor latent = pass("features", input_of(batch));
    const at::Tensor loss = mean_loss(pass("head", latent), batch, objective.loss);
    const Total total = add_latent_loss(loss, latent, objective);
    const std::vector<at::Tensor> gradients =
        torch::autograd::grad({total.differentiable}, leaves_, /*grad_outputs=*/{}, /*retain_graph=*/c10::nullopt,
                              /*create_graph=*/false, /*allow_unused=*/true);
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    std::size_t leaf = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Segment& segment = layout_->segments[i];
      if (segment.kind == SegmentKind::buffer) {
        const std::vector<float> values = values_of(tensors_[i].tensor);
        std::copy(values.begin(), values.end(), params.segment(i).begin());
      } else if (const at::Tensor& one = gradients[leaf++]; one.defined()) {
        const std::vector<float> values = values_of(one);
        std::copy(values.begin(), values.end(), gradient.begin() + static_cast<std::ptrdiff_t>(segment.offset));
      }
    }
    return total.value;
  }

  Activations forward(const Parameters& params, const Batch& batch, Latent) override {
    require_parameters(*layout_, params);
    require_batch(spec_, layout(), batch);
    const at::NoGradGuard no_grad;
    take(params);
    module_.eval();
    const at::Tensor latent = pass("features", input_of(batch));
    const at::Tensor logits = pass("head", latent);
    return {batch.size, spec_.classes, spec_.script->latent_size, values_of(logits), values_of(latent)};
  }

 private:
  void take(const Parameters& params) {
    const at::NoGradGuard no_grad;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      at::Tensor& tensor = tensors_[i].tensor;
      tensor.copy_(view_of(params.segment(i), layout_->segments[i].shape).reshape(tensor.sizes()));
    }
  }

  /// What the user's module refuses (a batch of one under batch normalisation) costs the client its round, not the run.
  at::Tensor pass(const char* method, const at::Tensor& x) {
    return call(module_, spec_.script->path, method, x, ErrorCode::invalid_data);
  }

  ModelSpec spec_;
  std::shared_ptr<const ParamLayout> layout_;
  torch::jit::Module module_;
  std::vector<NamedTensor> tensors_;
  std::vector<at::Tensor> leaves_;
};

}  // namespace

std::unique_ptr<Engine> make_script_engine(const ModelSpec& spec) { return std::make_unique<ScriptEngine>(spec); }

ModelSpec read_script(const std::string& path, SampleShape input, int classes) {
  torch::jit::Module module = load_module(path);
  auto script = std::make_shared<ScriptModel>();
  script->path = path;
  script->latent_size = checked_latent_size(module, path, input, classes);
  script->initial = weights_of(module, path);
  ModelSpec spec;
  spec.name = std::filesystem::path(path).stem().string();
  spec.input = input;
  spec.classes = classes;
  spec.script = std::move(script);
  return spec;
}

}  // namespace feroma
