#pragma once

#include <string>
#include <string_view>

#include "feroma/aggregation/fold.h"
#include "feroma/algorithms/feroma_choices.h"
#include "feroma/algorithms/local_training.h"
#include "feroma/core/defaults.h"
#include "feroma/core/options.h"
#include "feroma/mapping/distance.h"
#include "feroma/mapping/kernel.h"
#include "feroma/mapping/mixing.h"
#include "feroma/profile/profile.h"

namespace feroma {

struct RunFacts;

/// An early end of the warm-up (warmup_auto) waits for so many rounds.
inline constexpr int kShortestWarmup = 3;

/// Every knob of the method; the defaults are preset `auto`.
struct FeromaOptions {
  int warmup_rounds = 5;
  bool warmup_auto = false;
  MomentumChoice momentum_reset = MomentumChoice::inherit;
  double server_momentum = 0.75;

  std::string encoder = "warmup";
  int encoder_refresh = 0;
  Latent latent = Latent::flatten;
  Projection projection = Projection::orthonormal;
  int dimensions = 10;
  bool full_marginal = true;
  bool unit_norm = false;
  ProfileData data = ProfileData::all;
  int max_samples = 320;
  Subsampling subsampling = Subsampling::off;
  int replicates = 3;
  bool subsample_test = false;
  MissingClass missing_class = MissingClass::mask;
  int least_samples = 2;
  SpreadKind spread = SpreadKind::deviation;
  bool cache = true;
  NoiseStream noise_stream = NoiseStream::fresh;

  Scaling scaling = Scaling::none;
  Metric metric = Metric::reliable;
  Kernel kernel = Kernel::gaussian;
  double temperature = 1;
  double width = 0.5;
  double threshold = 0;
  ThresholdUnit threshold_unit = ThresholdUnit::all;
  double global_share = 0.2;
  Fold fold = Fold::mean;
  double fold_trim = 0.25;
  double norm_limit = 0;
  Counts counts = Counts::trained;
  Normalisation normalisation = Normalisation::row;
  Join join = Join::id;
  StrategyRule strategies = StrategyRule::effective;

  AssignRule assign_rule = AssignRule::kernel;
  Metric assign_metric = Metric::reliable;
  double assign_width = 0.5;
  Strangers strangers = Strangers::confidence;
  FewLabelRule few_label = FewLabelRule::loss;
  double loss_temperature = 0.05;

  int retained_models = 0;
  double retention_distance = 3;
  double retention_accuracy = 0.8;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit);
  /// Impossible combinations, and options that differ from `preset` but cannot act beside the others.
  void check(const FeromaOptions& preset, Problems& problems, const std::string& where) const;
  /// A warm-up that leaves rounds, and profiles that the model's latents can fill.
  void adapt(const RunFacts& facts, Defaults& defaults, const std::string& where);
  [[nodiscard]] FoldRule fold_rule() const { return {fold, fold_trim}; }
  [[nodiscard]] bool uses_priors() const { return missing_class == MissingClass::mask; }
};

/// The options of a preset: auto, paper or reference.
[[nodiscard]] FeromaOptions feroma_preset(std::string_view preset);

template <class Self, class Visit>
void FeromaOptions::fields(Self& self, Visit&& visit) {
  visit("warmup_rounds", self.warmup_rounds, at_least(0), "FedAvg rounds before profiles exist");
  visit("warmup_auto", self.warmup_auto, anything(),
        "end the warm-up early, once two rounds gained under 1 point of held-out accuracy");
  visit("momentum_reset", self.momentum_reset, anything(),
        "when the momentum buffer restarts; inherit takes [training]'s");
  visit("server_momentum", self.server_momentum, between(0, 1),
        "clients start ahead of their mixture, by this share of what the like of them learned in the round before");
  visit("profile.encoder", self.encoder, anything(),
        "warmup (the warm-up model), input_moments, or a safetensors file");
  visit("profile.encoder_refresh", self.encoder_refresh, at_least(0),
        "every so many rounds after the warm-up the mean of all models becomes the encoder; 0 keeps the first");
  visit("profile.latent", self.latent, anything(), "which activation of the encoder is summarised");
  visit("profile.projection", self.projection, anything(), "how latents become profile coordinates");
  visit("profile.dimensions", self.dimensions, at_least(0), "projected coordinates; 0 takes the number of classes");
  visit("profile.full_marginal", self.full_marginal, anything(),
        "keep every latent coordinate in the label-free block");
  visit("profile.unit_norm", self.unit_norm, anything(), "scale every latent to length 1; private profiles do so");
  visit("profile.data", self.data, anything(), "which of a client's samples are summarised");
  visit("profile.max_samples", self.max_samples, at_least(0), "at most so many of them, drawn at random; 0 takes all");
  visit("profile.subsampling", self.subsampling, anything(), "Monte-Carlo subsampling before the moments");
  visit("profile.replicates", self.replicates, at_least(1), "number of subsamples");
  visit("profile.subsample_test", self.subsample_test, anything(), "subsample the data of test clients too");
  visit("profile.missing_class", self.missing_class, anything(), "what stands for a class with too few samples");
  visit("profile.least_samples", self.least_samples, between(1, 2),
        "a class with fewer samples is missing; the spread of one sample is 0");
  visit("profile.spread", self.spread, anything(), "what says how far coordinates spread around their mean");
  visit("profile.cache", self.cache, anything(), "one profile per data version instead of one per round");
  visit("profile.noise_stream", self.noise_stream, anything(),
        "privacy.mode paper: constant reproduces the reference implementation's one noise vector for everybody");
  visit("mapping.scaling", self.scaling, anything(), "scaling of profile blocks, fitted in the first profile round");
  visit("mapping.metric", self.metric, anything(), "distance between profiles in training");
  visit("mapping.kernel", self.kernel, anything(), "how distances become weights");
  visit("mapping.temperature", self.temperature, above(0), "softmax kernel: exp(-d / temperature)");
  visit("mapping.width", self.width, above(0), "gaussian kernel: width as a share of the median smallest distance");
  visit("mapping.threshold", self.threshold, at_least(0), "weights below it are dropped; none left: uniform");
  visit("mapping.threshold_unit", self.threshold_unit, anything(),
        "what mapping.threshold is a share of: all weight, or the mean weight of a parent");
  visit("mapping.global_share", self.global_share, between(0, 1),
        "share of every mixture that is the mean of all models, where clients have the same shares of classes");
  visit("mapping.fold", self.fold, anything(),
        "how models become one: median, trimmed and krum bear clients that lie, in warm-up, training and serving");
  visit("mapping.fold_trim", self.fold_trim, Rule{.min = 0, .max = 0.49, .min_excluded = true},
        "the share of weight that may lie: cut at either end (trimmed) or left out (krum); nobody else gets more");
  visit("mapping.norm_limit", self.norm_limit, at_least(0),
        "refuse a model that is further from what its client was sent than so many times the median; 0 refuses none");
  visit("mapping.counts", self.counts, anything(), "sample counts multiplied into the weights");
  visit("mapping.normalisation", self.normalisation, anything(), "row, or sinkhorn for equal use of every source");
  visit("mapping.join", self.join, anything(), "positional reproduces the reference implementation's ordering bug");
  visit("mapping.strategies", self.strategies, anything(),
        "a client's aggregation is called clustered, personal or global by its effective parents, or by how many "
        "weights are above 0");
  visit("assign.rule", self.assign_rule, anything(),
        "an unlabelled client gets a kernel average, or the nearest model");
  visit("assign.metric", self.assign_metric, anything(), "distance between label-free profiles at test time");
  visit("assign.width", self.assign_width, above(0), "kernel rule: width as a share of the parents' median distance");
  visit("assign.strangers", self.strangers, anything(),
        "a run's test client far from all distributions gets models by profile too, or (class shares alike) by "
        "confidence; visitors by profile");
  visit("assign.few_label", self.few_label, anything(), "how a few labelled samples choose: by loss or by moments");
  visit("assign.loss_temperature", self.loss_temperature, above(0), "few labels: weights exp(-(loss - best) / it)");
  visit("retention.models", self.retained_models, at_least(0),
        "models kept from earlier rounds for distributions that are gone, at most; 0 keeps none");
  visit("retention.distance", self.retention_distance, above(0),
        "a kept model is farther from every present one than so many times what sampling noise explains");
  visit("retention.accuracy", self.retention_accuracy, between(0, 1),
        "a kept model's held-out accuracy was at least this share of the present models' mean");
}

}  // namespace feroma
