#include "engine/native/native_engine.h"

#include <algorithm>
#include <array>

#include "engine/checks.h"
#include "engine/native/loss_kernels.h"
#include "engine/native/network.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

using detail::kBlockLanes;
using detail::kGroupLanes;
using detail::Mode;

class NativeEngine final : public Engine {
 public:
  explicit NativeEngine(const ModelSpec& spec)
      : spec_(spec),
        param_layout_(make_layout(spec)),
        network_(detail::make_plan(spec)),
        targets_(static_cast<std::size_t>(spec.classes * kGroupLanes)) {}

  std::string_view name() const override { return "native"; }
  BatchLayout layout() const override {
    return {BatchLayout::sample_innermost, network_.plan().tensors.front().border};
  }

  double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                  std::span<float> gradient) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    require_objective(spec_, batch, objective);
    require(gradient.size() == params.size(), ErrorCode::internal,
            "[engine] the gradient has {} values, got room for {}", params.size(), gradient.size());
    // Samples that meet in a normalisation or a latent loss are passed together, others a block at a time: that stays
    // in the cache.
    const bool together = network_.plan().whole_batch || objective.latent_loss;
    const int samples_per_pass = together ? batch.size : kBlockLanes;
    const Mode mode = objective.statistics == Statistics::batch ? Mode::train : Mode::evaluate;
    double loss = 0;
    for (int first = 0; first < batch.size; first += samples_per_pass) {
      pass(params, batch, {first, std::min(samples_per_pass, batch.size - first)}, mode);
      if (first == 0) {
        network_.begin_gradient(gradient);
      }
      if (objective.latent_loss) {
        loss += latent_loss_of(batch, objective);
      }
      for (int sample = first; sample < std::min(batch.size, first + samples_per_pass); sample += kGroupLanes) {
        loss += loss_of_group(batch, objective, {sample, (sample - first) / kGroupLanes});
      }
      network_.backward(params.values());
    }
    network_.finish_gradient();
    if (mode == Mode::train) {
      network_.update_buffers(params.values());
    }
    return loss;
  }

  Activations forward(const Parameters& params, const Batch& batch, Latent latent) override {
    const std::size_t logits = network_.plan().steps.size();
    return activations(params, batch, latent, logits);
  }
  Activations latents(const Parameters& params, const Batch& batch, Latent latent) override {
    return activations(params, batch, latent, network_.plan().tensor_of_layer[latent_layer(spec_, latent)]);
  }

  Parameters with_batch_statistics(const Parameters& params, const Batch& batch) override {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    Parameters measured = params.clone();
    if (network_.plan().normalises) {
      pass(params, batch, {0, batch.size}, Mode::measure);
      network_.replace_statistics(measured.values());
    }
    return measured;
  }

 private:
  /// Neighbouring samples of a batch; a pass starts at a group.
  struct Samples {
    int first;
    int count;
  };
  /// A group of 16 samples: the first one's place in the batch, and the group's in the pass.
  struct Group {
    int first;
    int index;
  };

  void pass(const Parameters& params, const Batch& batch, Samples samples, Mode mode) {
    pass(params, batch, samples, mode, network_.plan().steps.size());
  }
  void pass(const Parameters& params, const Batch& batch, Samples samples, Mode mode, std::size_t steps) {
    network_.begin(samples.count);
    network_.set_input(std::span(batch.inputs).subspan(layout().size(spec_.input, samples.first)));
    network_.forward(params.values(), mode, steps);
  }

  /// Eval-mode outputs after so many steps: the latent, and logits where all steps were taken.
  Activations activations(const Parameters& params, const Batch& batch, Latent latent, std::size_t steps) {
    require_parameters(*param_layout_, params);
    require_batch(spec_, layout(), batch);
    const bool whole = steps == network_.plan().steps.size();
    Activations out;
    out.size = batch.size;
    out.classes = spec_.classes;
    out.latent_size = latent_size(spec_, latent);
    out.logits.resize(whole ? static_cast<std::size_t>(out.size) * static_cast<std::size_t>(out.classes) : 0);
    out.latents.resize(static_cast<std::size_t>(out.size) * static_cast<std::size_t>(out.latent_size));
    const std::size_t latent_tensor = network_.plan().tensor_of_layer[latent_layer(spec_, latent)];
    for (int first = 0; first < batch.size; first += kBlockLanes) {
      const Samples samples{first, std::min(kBlockLanes, batch.size - first)};
      pass(params, batch, samples, Mode::evaluate, steps);
      if (whole) {
        copy_rows(samples, steps, out.logits);
      }
      copy_rows(samples, latent_tensor, out.latents);
    }
    return out;
  }

  /// The sum of the group's losses, each divided by the batch size; leaves their gradient.
  double loss_of_group(const Batch& batch, const Objective& objective, Group group) {
    std::array<double, kGroupLanes> labels{};
    std::array<double, kGroupLanes> scales{};
    std::array<double, kGroupLanes> losses{};
    const int samples = std::min(kGroupLanes, batch.size - group.first);
    for (int i = 0; i < samples; ++i) {
      const auto lane = static_cast<std::size_t>(i);
      const auto sample = static_cast<std::size_t>(group.first + i);
      const double weight = batch.weights.empty() ? 1.0 : static_cast<double>(batch.weights[sample]);
      labels[lane] = objective.loss == Loss::cross_entropy ? static_cast<double>(batch.labels[sample]) : 0.0;
      scales[lane] = weight / static_cast<double>(batch.size);
    }
    if (objective.loss == Loss::binary_cross_entropy) {
      lay_out_rows(batch.targets, group.first, samples, targets_);
    }
    const std::size_t last = network_.plan().steps.size();
    detail::losses_of_group(
        objective.loss,
        {network_.packed(last, group.index).data(), spec_.classes, labels.data(), targets_.data(), scales.data()},
        network_.packed_gradient(last, group.index).data(), losses.data());
    double loss = 0;
    for (int i = 0; i < samples; ++i) {
      loss += losses[static_cast<std::size_t>(i)];
    }
    return loss;
  }

  /// The latent loss of the whole batch, which has just passed; leaves its gradient for `backward`.
  double latent_loss_of(const Batch& batch, const Objective& objective) {
    const std::size_t tensor = network_.plan().tensor_of_layer[latent_layer(spec_, objective.latent)];
    const std::size_t size = static_cast<std::size_t>(batch.size) * network_.plan().tensors[tensor].features();
    latents_.resize(size);
    latent_gradients_.assign(size, 0.0F);
    copy_rows({0, batch.size}, tensor, latents_);
    const double loss = objective.latent_loss(latents_, latent_gradients_);
    injected_.resize(network_.packed(tensor, 0).size());
    for (int first = 0; first < batch.size; first += kGroupLanes) {
      lay_out_rows(latent_gradients_, first, std::min(kGroupLanes, batch.size - first), injected_);
      network_.inject(tensor, first / kGroupLanes, injected_);
    }
    return loss;
  }

  /// Turns some rows into [feature][16]; lanes without a sample become zero.
  static void lay_out_rows(std::span<const float> rows, int first, int samples, std::span<float> out) {
    const std::size_t width = out.size() / kGroupLanes;
    std::fill(out.begin(), out.end(), 0.0F);
    for (std::size_t lane = 0; lane < static_cast<std::size_t>(samples); ++lane) {
      const float* const row = rows.data() + (static_cast<std::size_t>(first) + lane) * width;
      for (std::size_t i = 0; i < width; ++i) {
        out[i * kGroupLanes + lane] = row[i];
      }
    }
  }

  /// Turns a packed tensor of the pass into rows of `out`, one per sample.
  void copy_rows(Samples samples, std::size_t tensor, std::span<float> out) const {
    const std::size_t width = network_.plan().tensors[tensor].features();
    for (int sample = 0; sample < samples.count; ++sample) {
      const float* from = network_.packed(tensor, sample / kGroupLanes).data() + sample % kGroupLanes;
      float* const row = out.data() + static_cast<std::size_t>(samples.first + sample) * width;
      for (std::size_t i = 0; i < width; ++i) {
        row[i] = from[i * kGroupLanes];
      }
    }
  }

  ModelSpec spec_;
  std::shared_ptr<const ParamLayout> param_layout_;
  detail::Network network_;
  std::vector<float> targets_;           ///< of one group, [class][16]
  std::vector<float> latents_;           ///< of a batch, one row per sample
  std::vector<float> latent_gradients_;  ///< the same
  std::vector<float> injected_;          ///< of one group, [feature][16]
};

}  // namespace

std::unique_ptr<Engine> make_native_engine(const ModelSpec& spec) { return std::make_unique<NativeEngine>(spec); }

}  // namespace feroma
