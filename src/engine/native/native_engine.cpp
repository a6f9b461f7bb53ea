#include "engine/native/native_engine.h"

#include <algorithm>
#include <array>

#include "engine/checks.h"
#include "engine/native/network.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

using detail::kBlockLanes;
using detail::kGroupLanes;

int blocks_of(const Batch& batch) { return (batch.size + kBlockLanes - 1) / kBlockLanes; }

std::span<const float> block_of(const Batch& batch, int block) {
  const auto size = static_cast<std::size_t>(batch.shape.size() * kBlockLanes);
  return std::span(batch.inputs).subspan(static_cast<std::size_t>(block) * size, size);
}

class NativeEngine final : public Engine {
 public:
  explicit NativeEngine(const ModelSpec& spec)
      : spec_(spec), param_layout_(make_layout(spec)), network_(detail::make_plan(spec)) {}

  std::string_view name() const override { return "native"; }
  BatchLayout layout() const override { return BatchLayout::sample_innermost; }

  double gradient(Parameters& params, const Batch& batch, std::span<float> gradient) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    require_targets(spec_, batch);
    require(gradient.size() == params.size(), ErrorCode::internal,
            "[engine] the gradient has {} values, got room for {}", params.size(), gradient.size());
    network_.clear_sums();
    double loss = 0;
    for (int block = 0; block < blocks_of(batch); ++block) {
      run_block(params, batch, block);
      for (int first = block * kBlockLanes; first < std::min(batch.size, (block + 1) * kBlockLanes);
           first += kGroupLanes) {
        loss += loss_of_group(batch, block, first);
      }
      network_.backward(params.values());
    }
    network_.finish_gradient(gradient);
    return loss;
  }

  Activations forward(const Parameters& params, const Batch& batch, Latent latent) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    Activations out;
    out.size = batch.size;
    out.classes = spec_.classes;
    out.latent_size = latent_size(spec_, latent);
    out.logits.resize(static_cast<std::size_t>(out.size) * static_cast<std::size_t>(out.classes));
    out.latents.resize(static_cast<std::size_t>(out.size) * static_cast<std::size_t>(out.latent_size));
    const std::size_t latent_tensor = network_.plan().tensor_of_layer[latent_layer(spec_, latent)];
    for (int block = 0; block < blocks_of(batch); ++block) {
      run_block(params, batch, block);
      copy_rows(block, batch.size, network_.plan().steps.size(), out.logits);
      copy_rows(block, batch.size, latent_tensor, out.latents);
    }
    return out;
  }

 private:
  void run_block(const Parameters& params, const Batch& batch, int block) {
    const int samples = std::min(kBlockLanes, batch.size - block * kBlockLanes);
    network_.set_input(block_of(batch, block), (samples + kGroupLanes - 1) / kGroupLanes);
    network_.forward(params.values());
  }

  /// The sum of the losses of samples first..first + 16, each divided by the batch size; leaves their gradient.
  double loss_of_group(const Batch& batch, int block, int first) {
    std::array<double, kGroupLanes> labels{};
    std::array<double, kGroupLanes> scales{};
    std::array<double, kGroupLanes> losses{};
    const int samples = std::min(kGroupLanes, batch.size - first);
    for (int i = 0; i < samples; ++i) {
      const auto lane = static_cast<std::size_t>(i);
      const auto sample = static_cast<std::size_t>(first + i);
      const double weight = batch.weights.empty() ? 1.0 : static_cast<double>(batch.weights[sample]);
      labels[lane] = static_cast<double>(batch.labels[sample]);
      scales[lane] = weight / static_cast<double>(batch.size);
    }
    const int group = (first - block * kBlockLanes) / kGroupLanes;
    const std::span<const float> logits = network_.packed(network_.plan().steps.size(), group);
    detail::cross_entropy({logits.data(), spec_.classes, labels.data(), scales.data()},
                          network_.logit_gradient(group).data(), losses.data());
    double loss = 0;
    for (int i = 0; i < samples; ++i) {
      loss += losses[static_cast<std::size_t>(i)];
    }
    return loss;
  }

  /// Turns a packed tensor of the block into rows of `out`, one per sample.
  void copy_rows(int block, int size, std::size_t tensor, std::span<float> out) const {
    const std::size_t width = network_.plan().tensors[tensor].features();
    const int first = block * kBlockLanes;
    for (int sample = first; sample < std::min(size, first + kBlockLanes); ++sample) {
      const int lane = (sample - first) % kGroupLanes;
      const float* from = network_.packed(tensor, (sample - first) / kGroupLanes).data() + lane;
      float* const row = out.data() + static_cast<std::size_t>(sample) * width;
      for (std::size_t i = 0; i < width; ++i) {
        row[i] = from[i * kGroupLanes];
      }
    }
  }

  ModelSpec spec_;
  std::shared_ptr<const ParamLayout> param_layout_;
  detail::Network network_;
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(const ModelSpec& spec) { return std::make_unique<NativeEngine>(spec); }

}  // namespace feroma
