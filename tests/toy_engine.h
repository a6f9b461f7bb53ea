#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/data/view.h"
#include "feroma/engine/engine.h"
#include "feroma/partition/scenario.h"

namespace feroma::test {

/// Softmax regression: the smallest model with a latent (its input) and a head.
inline ModelSpec toy_model(SampleShape input, int classes) {
  return {"toy", input, classes, {Flatten{}, Linear{"fc", classes}}};
}

/// Plain loops instead of a real engine, so that algorithms and the round loop are tested in every build. Knows
/// cross-entropy and entropy; nothing trainable lies below its latent, so a latent loss adds its value and no gradient.
class ToyEngine final : public Engine {
 public:
  explicit ToyEngine(ModelSpec spec) : spec_(std::move(spec)) {}

  [[nodiscard]] std::string_view name() const override { return "toy"; }
  [[nodiscard]] BatchLayout layout() const override { return BatchLayout::sample_major; }

  using Engine::gradient;
  double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                  std::span<float> gradient) override {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    const auto width = static_cast<std::size_t>(spec_.input.size());
    const auto classes = static_cast<std::size_t>(spec_.classes);
    const Activations out = forward(params, batch, Latent::flatten);
    double loss = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size); ++i) {
      const float* logits = out.logits.data() + i * classes;
      const float top = *std::max_element(logits, logits + classes);
      double total = 0;
      for (std::size_t u = 0; u < classes; ++u) {
        total += std::exp(static_cast<double>(logits[u] - top));
      }
      const bool unlabelled = objective.loss == Loss::entropy;
      const std::size_t label = unlabelled ? classes : static_cast<std::size_t>(batch.labels[i]);
      double entropy = 0;
      for (std::size_t u = 0; u < classes; ++u) {
        const double log_p = static_cast<double>(logits[u] - top) - std::log(total);
        entropy -= std::exp(log_p) * log_p;
      }
      const double weight = batch.weights.empty() ? 1.0 : static_cast<double>(batch.weights[i]);
      loss += weight * (unlabelled ? entropy : std::log(total) - static_cast<double>(logits[label] - top));
      for (std::size_t u = 0; u < classes; ++u) {
        const double p = std::exp(static_cast<double>(logits[u] - top)) / total;
        const double slope = unlabelled ? -p * (std::log(p) + entropy) : p - (u == label ? 1.0 : 0.0);
        const auto d = static_cast<float>(weight * slope / batch.size);
        for (std::size_t c = 0; c < width; ++c) {
          gradient[u * width + c] += d * batch.inputs[i * width + c];
        }
        gradient[classes * width + u] += d;
      }
    }
    loss /= batch.size;
    if (objective.latent_loss) {
      std::vector<float> ignored(out.latents.size());
      loss += objective.latent_loss(out.latents, ignored);
    }
    return loss;
  }

  [[nodiscard]] Activations forward(const Parameters& params, const Batch& batch, Latent) override {
    const auto width = static_cast<std::size_t>(spec_.input.size());
    const auto classes = static_cast<std::size_t>(spec_.classes);
    Activations out{batch.size, spec_.classes, spec_.input.size(), {}, {batch.inputs.begin(), batch.inputs.end()}};
    const auto values = params.values();
    for (std::size_t i = 0; i < static_cast<std::size_t>(batch.size); ++i) {
      for (std::size_t u = 0; u < classes; ++u) {
        float sum = values[classes * width + u];
        for (std::size_t c = 0; c < width; ++c) {
          sum += values[u * width + c] * batch.inputs[i * width + c];
        }
        out.logits.push_back(sum);
      }
    }
    return out;
  }

 private:
  ModelSpec spec_;
};

/// Pictures of 4 x 4 pixels whose bright pixel tells the class, with noise; learnable by the toy model.
inline Samples toy_samples(std::size_t count, int classes, Rng rng) {
  Samples samples;
  samples.shape = {1, 4, 4};
  for (std::size_t i = 0; i < count; ++i) {
    const auto label = static_cast<std::int32_t>(i % static_cast<std::size_t>(classes));
    samples.labels.push_back(label);
    for (std::int32_t p = 0; p < 16; ++p) {
      samples.pixels.push_back(static_cast<std::uint8_t>((p == label ? 160 : 0) + static_cast<int>(rng.below(80))));
    }
  }
  return samples;
}

inline std::shared_ptr<const Dataset> toy_dataset() {
  static const auto dataset = [] {
    auto toy = std::make_shared<Dataset>();
    toy->name = "toy";
    toy->classes = 10;
    toy->train = toy_samples(1200, 10, Rng(1));
    toy->test = toy_samples(400, 10, Rng(2));
    return std::shared_ptr<const Dataset>(toy);
  }();
  return dataset;
}

/// The first samples of a view in one batch.
inline Batch first_samples(const View& view, std::size_t count, BatchLayout layout = BatchLayout::sample_major) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  return assemble(view, order, layout);
}

inline ScenarioOptions toy_scenario() {
  ScenarioOptions scenario;
  scenario.dataset = "toy";
  scenario.shift = Shift::covariate;
  scenario.level = Level::low;
  scenario.clients = 6;
  scenario.rounds = 5;
  scenario.drifts = 3;
  return scenario;
}

}  // namespace feroma::test
