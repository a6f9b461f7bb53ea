#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "feroma/algorithms/local_training.h"
#include "feroma/core/options.h"
#include "feroma/mapping/distance.h"
#include "feroma/mapping/kernel.h"
#include "feroma/mapping/mixing.h"
#include "feroma/models/spec.h"
#include "feroma/profile/profile.h"

namespace feroma {

/// How latents become profile coordinates.
enum class Projection {
  orthonormal,  ///< a seeded random orthonormal map
  pca_box,      ///< PCA of noise in the clients' latent box (the paper)
  pca_cube,     ///< PCA of noise in [0, max latent]^z (the reference implementation)
};
/// Which samples of a client its profile summarises.
enum class ProfileData { held_out, train, all };
enum class Scaling { none, min_max };
enum class Counts {
  none,
  trained,   ///< examples behind the parent's model
  profiled,  ///< examples behind the current round's profile of the same client (the reference implementation)
};
/// How weights find their models: by client, or by place in an unordered list (the reference implementation's bug).
enum class Join { id, positional };
/// What an unlabelled test client gets.
enum class AssignRule { kernel, nearest };
/// How a few labelled samples choose.
enum class FewLabelRule { loss, moments };

constexpr auto enum_names(Latent) {
  using enum Latent;
  return std::array<std::pair<Latent, std::string_view>, 2>{{{flatten, "flatten"}, {penultimate, "penultimate"}}};
}
constexpr auto enum_names(Projection) {
  using enum Projection;
  return std::array<std::pair<Projection, std::string_view>, 3>{
      {{orthonormal, "orthonormal"}, {pca_box, "pca_box"}, {pca_cube, "pca_cube"}}};
}
constexpr auto enum_names(ProfileData) {
  using enum ProfileData;
  return std::array<std::pair<ProfileData, std::string_view>, 3>{
      {{held_out, "held_out"}, {train, "train"}, {all, "all"}}};
}
constexpr auto enum_names(Scaling) {
  using enum Scaling;
  return std::array<std::pair<Scaling, std::string_view>, 2>{{{none, "none"}, {min_max, "min_max"}}};
}
constexpr auto enum_names(Counts) {
  using enum Counts;
  return std::array<std::pair<Counts, std::string_view>, 3>{
      {{none, "none"}, {trained, "trained"}, {profiled, "profiled"}}};
}
constexpr auto enum_names(Join) {
  using enum Join;
  return std::array<std::pair<Join, std::string_view>, 2>{{{id, "id"}, {positional, "positional"}}};
}
constexpr auto enum_names(AssignRule) {
  using enum AssignRule;
  return std::array<std::pair<AssignRule, std::string_view>, 2>{{{kernel, "kernel"}, {nearest, "nearest"}}};
}
constexpr auto enum_names(FewLabelRule) {
  using enum FewLabelRule;
  return std::array<std::pair<FewLabelRule, std::string_view>, 2>{{{loss, "loss"}, {moments, "moments"}}};
}

/// Every knob of the method; the defaults are preset `auto`.
struct FeromaOptions {
  int warmup_rounds = 5;
  bool warmup_auto = false;
  MomentumChoice momentum_reset = MomentumChoice::inherit;

  std::string encoder = "warmup";
  Latent latent = Latent::flatten;
  Projection projection = Projection::orthonormal;
  int dimensions = 10;
  bool full_marginal = true;
  ProfileData data = ProfileData::all;
  int max_samples = 400;
  Subsampling subsampling = Subsampling::off;
  int replicates = 3;
  MissingClass missing_class = MissingClass::mask;
  bool cache = true;

  Scaling scaling = Scaling::none;
  Metric metric = Metric::reliable;
  Kernel kernel = Kernel::gaussian;
  double temperature = 1;
  double width = 0.5;
  double threshold = 0;
  Counts counts = Counts::trained;
  Normalisation normalisation = Normalisation::row;
  Join join = Join::id;

  AssignRule assign_rule = AssignRule::kernel;
  Metric assign_metric = Metric::reliable;
  FewLabelRule few_label = FewLabelRule::loss;
  double loss_temperature = 0.05;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit);
  void check(Problems& problems, const std::string& where) const;
  [[nodiscard]] bool uses_priors() const { return missing_class == MissingClass::mask; }
};

/// The options of a preset: auto, paper or reference.
[[nodiscard]] FeromaOptions feroma_preset(std::string_view preset);

template <class Self, class Visit>
void FeromaOptions::fields(Self& self, Visit&& visit) {
  visit("warmup_rounds", self.warmup_rounds, at_least(0), "FedAvg rounds before profiles exist");
  visit("warmup_auto", self.warmup_auto, anything(),
        "end the warm-up (after 3 to 8 rounds) once two rounds gained under 1 point of held-out accuracy");
  visit("momentum_reset", self.momentum_reset, anything(),
        "when the momentum buffer restarts; inherit takes [training]'s");
  visit("profile.encoder", self.encoder, anything(),
        "warmup (the warm-up model), input_moments, or a safetensors file");
  visit("profile.latent", self.latent, anything(), "which activation of the encoder is summarised");
  visit("profile.projection", self.projection, anything(), "how latents become profile coordinates");
  visit("profile.dimensions", self.dimensions, at_least(0), "projected coordinates; 0 takes the number of classes");
  visit("profile.full_marginal", self.full_marginal, anything(),
        "keep every latent coordinate in the label-free block");
  visit("profile.data", self.data, anything(), "which of a client's samples are summarised");
  visit("profile.max_samples", self.max_samples, at_least(0), "at most so many of them, drawn at random; 0 takes all");
  visit("profile.subsampling", self.subsampling, anything(), "Monte-Carlo subsampling before the moments");
  visit("profile.replicates", self.replicates, at_least(1), "number of subsamples");
  visit("profile.missing_class", self.missing_class, anything(), "what stands for a class with under two samples");
  visit("profile.cache", self.cache, anything(), "one profile per data version instead of one per round");
  visit("mapping.scaling", self.scaling, anything(), "scaling of profile blocks, fitted in the first profile round");
  visit("mapping.metric", self.metric, anything(), "distance between profiles in training");
  visit("mapping.kernel", self.kernel, anything(), "how distances become weights");
  visit("mapping.temperature", self.temperature, above(0), "softmax kernel: exp(-d / temperature)");
  visit("mapping.width", self.width, above(0), "gaussian kernel: width as a share of the median smallest distance");
  visit("mapping.threshold", self.threshold, between(0, 1), "weights below it are dropped; none left: uniform");
  visit("mapping.counts", self.counts, anything(), "sample counts multiplied into the weights");
  visit("mapping.normalisation", self.normalisation, anything(), "row, or sinkhorn for equal use of every source");
  visit("mapping.join", self.join, anything(), "positional reproduces the reference implementation's ordering bug");
  visit("assign.rule", self.assign_rule, anything(),
        "an unlabelled client gets a kernel average, or the nearest model");
  visit("assign.metric", self.assign_metric, anything(), "distance between label-free profiles at test time");
  visit("assign.few_label", self.few_label, anything(), "how a few labelled samples choose: by loss or by moments");
  visit("assign.loss_temperature", self.loss_temperature, above(0), "few labels: weights exp(-(loss - best) / it)");
}

}  // namespace feroma
