#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/**
 * FedGPS (Yang et al., NeurIPS 2025): one global model whose clients step as seen from where the others are going, and
 * learn made-up samples that everybody has beside their own data. Those samples have labels of their own, so training
 * uses a last layer of twice the classes; the second half of it is never asked for a prediction.
 */
struct FedGpsOptions {
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double look_ahead = 0.5;
  double surrogate_weight = 1;
  double contrast = 1;
  double surrogate_contrast = 0.1;
  double prototype_weight = 0.1;
  double temperature = 0.07;
  bool match_classes = true;
  double clip = 10;
  int surrogate_batch = 64;
  int surrogates_per_class = 50;
  double surrogate_noise = 0.5;
  bool whole_head = true;

  /// Whether any part of the loss reads the made-up samples.
  [[nodiscard]] bool uses_surrogates() const {
    return surrogate_weight > 0 || contrast > 0 || surrogate_contrast > 0 || prototype_weight > 0;
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("look_ahead", self.look_ahead, at_least(0),
          "how far gradients are taken ahead in the other clients' direction; 0 takes them where the model is");
    visit("surrogate_weight", self.surrogate_weight, at_least(0), "weight of the made-up samples' cross-entropy");
    visit("contrast", self.contrast, at_least(0),
          "weight of the contrastive loss that draws latents to those of their class, made-up ones included");
    visit("surrogate_contrast", self.surrogate_contrast, at_least(0),
          "weight of the contrastive loss among the made-up samples alone");
    visit("prototype_weight", self.prototype_weight, at_least(0),
          "weight of the mean squared distance of made-up samples' latents to everybody's mean latent of their class");
    visit("temperature", self.temperature, above(0), "temperature of the contrastive losses");
    visit("match_classes", self.match_classes, anything(),
          "whether a made-up class is drawn to the real one of its number; false as the public code does it");
    visit("clip", self.clip, at_least(0), "longest gradient; 0 leaves all as they are");
    visit("surrogate_batch", self.surrogate_batch, at_least(1),
          "made-up samples beside each minibatch; the public code has 128, which costs a client half as much again");
    visit("surrogates_per_class", self.surrogates_per_class, at_least(1), "made-up samples of each class");
    visit("surrogate_noise", self.surrogate_noise, at_least(0), "deviation of a made-up sample from its class's mean");
    visit("whole_head", self.whole_head, anything(),
          "whether looking ahead counts and moves the made-up half of the last layer as well, which is one layer (the "
          "authors' code)");
  }
  void check(const FedGpsOptions& preset, Problems& problems, const std::string& where) const;
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedgps(const FedGpsOptions& options);

}  // namespace feroma
