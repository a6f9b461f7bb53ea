#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/engine/objective.h"
#include "feroma/models/parameters.h"
#include "feroma/models/spec.h"

namespace feroma {

/// Outputs of an eval-mode forward pass, one row per sample.
struct Activations {
  int size = 0;
  int classes = 0;
  int latent_size = 0;
  std::vector<float> logits;   ///< size x classes
  std::vector<float> latents;  ///< size x latent_size
};

/**
 * Computes with one model description. An engine keeps no model: parameters come in with every call, so the same
 * batch and parameters give the same bits. One engine per worker thread; an engine is not shared between threads.
 */
class Engine {
 public:
  virtual ~Engine() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;
  /// The layout this engine reads batches in.
  [[nodiscard]] virtual BatchLayout layout() const = 0;
  /// Train-mode pass: writes d(objective)/d(params) over `gradient` (same order and size as the parameters, zero for
  /// buffers), updates buffers in `params`, returns the objective: the mean loss, and the latent loss where there is
  /// one. Per-sample weights divide by batch size. With `Statistics::running` it is an eval-mode pass.
  virtual double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                          std::span<float> gradient) = 0;
  /// The same for the mean cross-entropy.
  double gradient(Parameters& params, const Batch& batch, std::span<float> gradient_out) {
    return gradient(params, batch, Objective{}, gradient_out);
  }
  /// Eval-mode pass to logits and the chosen latent.
  [[nodiscard]] virtual Activations forward(const Parameters& params, const Batch& batch, Latent latent) = 0;
  /// The same without logits: an engine may stop where the latent is.
  [[nodiscard]] virtual Activations latents(const Parameters& params, const Batch& batch, Latent latent) {
    return forward(params, batch, latent);
  }
  /// `params` with the batch's own means and variances (unbiased) in place of the running ones, all measured in one
  /// eval-mode pass. A channel of a single value has no variance: the running one stays. Models without running
  /// statistics come back as they are; an engine that cannot see them in a model with them says `unsupported`.
  [[nodiscard]] virtual Parameters with_batch_statistics(const Parameters& params, const Batch& batch);
};

enum class EngineKind { native, torch };

/// Builds an engine for one worker. Asking for one that is not there is an `unsupported` error.
[[nodiscard]] std::unique_ptr<Engine> make_engine(EngineKind kind, const ModelSpec& spec);
/// Whether the engine is built in or its module is installed; loads nothing.
[[nodiscard]] bool engine_available(EngineKind kind);
/// Loads the engine's module where it has one; an `unsupported` error that says why where it cannot.
void require_engine(EngineKind kind);
/// Reads a TorchScript file that exports features(x) and head(z) with forward(x) = head(features(x)); what it does not
/// keep to is an invalid_config error. Needs the torch engine.
[[nodiscard]] ModelSpec read_script_model(const std::string& path, SampleShape input, int classes);
/// Called once by each worker thread before it uses an engine (libtorch: one intra-op thread).
void prepare_worker_thread(EngineKind kind);

}  // namespace feroma
