#pragma once

#include <memory>

#include "feroma/algorithms/algorithm.h"
#include "feroma/algorithms/feroma_choices.h"
#include "feroma/algorithms/local_training.h"

namespace feroma {

/// How much a client counts in the mean of a class's prototypes.
enum class PrototypeWeights { counts, uniform };
constexpr auto enum_names(PrototypeWeights) {
  using enum PrototypeWeights;
  return std::array<std::pair<PrototypeWeights, std::string_view>, 2>{{{counts, "counts"}, {uniform, "uniform"}}};
}

/// What a client's model predicts by: the nearest prototype of its latents, or its own last layer.
enum class PrototypePrediction { nearest, head };
constexpr auto enum_names(PrototypePrediction) {
  using enum PrototypePrediction;
  return std::array<std::pair<PrototypePrediction, std::string_view>, 2>{{{nearest, "nearest"}, {head, "head"}}};
}

/// Which latents of its data a client's prototypes are means of.
enum class PrototypeSource {
  trained,     ///< those of its trained model
  last_epoch,  ///< those that training saw in its last epoch, while the model still changed
};
constexpr auto enum_names(PrototypeSource) {
  using enum PrototypeSource;
  return std::array<std::pair<PrototypeSource, std::string_view>, 2>{
      {{trained, "trained"}, {last_epoch, "last_epoch"}}};
}

/// FedProto (Tan et al., AAAI 2022): every client keeps its own model; only the classes' mean latents are shared.
struct FedProtoOptions {
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double lambda = 1;
  Latent latent = Latent::penultimate;
  PrototypeWeights weights = PrototypeWeights::counts;
  PrototypePrediction predict = PrototypePrediction::nearest;
  PrototypeSource source = PrototypeSource::trained;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("momentum_reset", self.momentum_reset, anything(),
          "when the momentum buffer restarts; inherit takes [training]'s");
    visit("lambda", self.lambda, at_least(0),
          "weight of the mean squared distance between latents and prototypes; 0 trains every client alone");
    visit("latent", self.latent, anything(), "which activation prototypes are means of");
    visit("weights", self.weights, anything(),
          "a class's prototype is the clients' mean weighted by their samples of it, or uniform as in the public code");
    visit("predict", self.predict, anything(),
          "by the nearest prototype, as in the paper, or by each model's own last layer (head)");
    visit("source", self.source, anything(),
          "a client's prototypes are means of its trained model's latents, or of those seen during the last epoch "
          "(public code)");
  }
  void check(const FedProtoOptions&, Problems&, const std::string&) const {}
};

[[nodiscard]] std::unique_ptr<Algorithm> make_fedproto(const FedProtoOptions& options);

}  // namespace feroma
