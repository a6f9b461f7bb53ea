#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/core/rng.h"
#include "feroma/data/view.h"
#include "feroma/engine/engine.h"
#include "feroma/engine/sgd.h"
#include "feroma/metrics/tally.h"
#include "feroma/models/parameters.h"

namespace feroma {

/// When the momentum buffer starts again from zero.
enum class MomentumReset { epoch, round };
constexpr auto enum_names(MomentumReset) {
  using enum MomentumReset;
  return std::array<std::pair<MomentumReset, std::string_view>, 2>{{{epoch, "epoch"}, {round, "round"}}};
}

/// Local SGD; the numbers of a `[training]` table that reach a client.
struct FitOptions {
  int local_epochs = 2;
  int batch_size = 64;
  double learning_rate = 0.005;
  double momentum = 0.9;
  MomentumReset momentum_reset = MomentumReset::round;
};

/// Ends training, with an invalid_data error, whose losses or models ran away; `rate` may be why.
void require_finite(bool finite, std::string_view method, double rate);

/// Gradient edits for algorithms that change the local objective; empty members do nothing.
struct FitHooks {
  std::span<const float> sample_weights;  ///< one per training sample, divided by the batch size
  std::function<void(std::span<const float> params, std::span<float> gradient)> edit_gradient;
  /// Added to the loss of every batch, from the latents of its own forward pass (see LatentLoss).
  std::function<double(const Batch& batch, std::span<const float> latents, std::span<float> gradient)> latent_loss = {};
  Latent latent = Latent::penultimate;
  /// The momentum buffer where the caller keeps it, one value per parameter: training begins with what it holds. Empty:
  /// it begins with zeros.
  std::span<float> velocity = {};
};

/// One of several models that learn from the same minibatches.
struct Learner {
  Parameters& params;
  FitHooks hooks = {};
};

/// Samples that went through a model; what a method costs a client.
struct Passes {
  std::int64_t forward = 0;
  std::int64_t backward = 0;

  Passes& operator+=(const Passes& other) {
    forward += other.forward;
    backward += other.backward;
    return *this;
  }
  friend Passes operator-(const Passes& a, const Passes& b) { return {a.forward - b.forward, a.backward - b.backward}; }
};

/// The one local training loop, on one engine. Not shared between threads.
class Trainer {
 public:
  explicit Trainer(Engine& engine) : engine_(engine) {}

  /// Trains `params` in place on `view`, shuffled by `rng` each epoch; returns the mean loss over all batches' samples.
  /// A loss that is not finite is an invalid_data error naming the step.
  double fit(Parameters& params, const View& view, const FitOptions& options, Rng rng, const FitHooks& hooks = {});
  /// Trains several models, each as `fit` would train it alone, but every batch is put together once; their losses.
  std::vector<double> fit_together(std::span<const Learner> learners, const View& view, const FitOptions& options,
                                   Rng rng);
  /// The same as `fit` on samples in the given order, without shuffling.
  double fit_in_order(Parameters& params, const View& view, const FitOptions& options);

  /// Calls `use` with the minibatches that `fit` would train on, in its order; for methods with their own steps.
  void for_each_minibatch(const View& view, const FitOptions& options, const Rng& rng,
                          const std::function<void(const Batch& batch)>& use);
  /// One gradient (see Engine::gradient) of the data's own loss, or of another objective.
  double gradient(Parameters& params, const Batch& batch, std::span<float> gradient);
  double gradient(Parameters& params, const Batch& batch, const Objective& objective, std::span<float> gradient);

  /// See Engine::with_batch_statistics; a forward pass.
  [[nodiscard]] Parameters with_batch_statistics(const Parameters& params, const Batch& batch);

  [[nodiscard]] Tally evaluate(const Parameters& params, const View& view);
  /// The same for several models, one tally each; every batch is put together once.
  [[nodiscard]] std::vector<Tally> evaluate(std::span<const ParametersPtr> models, const View& view);
  /// Calls `use` with the latents (rows x width) of consecutive samples and the batch they came from.
  using LatentSink = std::function<void(std::span<const float> rows, int width, const Batch& batch)>;
  void latents(const Parameters& params, const View& view, Latent latent, const LatentSink& use);
  /// Per-class probabilities, view.size() x classes: they sum to 1, or for multi-label data each stands alone.
  [[nodiscard]] std::vector<float> probabilities(const Parameters& params, const View& view);
  /// The loss of every sample, in the view's order.
  [[nodiscard]] std::vector<double> losses(const Parameters& params, const View& view);
  /// The same for several models, one row each; every batch is put together once.
  [[nodiscard]] std::vector<std::vector<double>> losses(std::span<const ParametersPtr> models, const View& view);
  [[nodiscard]] Engine& engine() { return engine_; }
  /// Counts everything since the trainer was made.
  [[nodiscard]] Passes& passes() { return passes_; }

 private:
  using OrderOfEpoch = std::function<std::vector<std::uint32_t>(int epoch)>;
  std::vector<double> epochs(std::span<const Learner> learners, const View& view, const FitOptions& options,
                             const OrderOfEpoch& order_of);
  [[nodiscard]] std::vector<Tally> tallies_of(std::span<const Parameters* const> models, const View& view);
  [[nodiscard]] Activations forward(const Parameters& params, const Batch& batch, Latent latent);
  /// One step on the batch at hand, which holds `items`.
  double step(const Learner& learner, std::span<const std::uint32_t> items, const FitOptions& options, Loss own_loss,
              std::span<float> velocity);
  [[nodiscard]] std::vector<std::vector<float>> probabilities_of(std::span<const Parameters* const> models,
                                                                 const View& view);

  Engine& engine_;
  std::vector<float> gradient_;
  Batch batch_;  ///< used again for every batch
  Passes passes_;
};

}  // namespace feroma
