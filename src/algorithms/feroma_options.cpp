#include "feroma/algorithms/feroma_options.h"

#include <fmt/core.h>

#include <algorithm>

#include "feroma/algorithms/extractor.h"
#include "feroma/algorithms/registry.h"

namespace feroma {

FeromaOptions feroma_preset(std::string_view preset) {
  FeromaOptions options;
  if (preset == "auto") {
    return options;
  }
  require(preset == "paper" || preset == "reference", ErrorCode::invalid_config,
          "[feroma] preset must be one of auto, paper, reference, got \"{}\"", preset);
  // Common to the printed method and its implementation.
  options.server_momentum = 0;
  options.global_share = 0;
  options.strangers = Strangers::profile;
  options.full_marginal = false;
  options.data = ProfileData::held_out;
  options.max_samples = 0;
  options.missing_class = MissingClass::minus_one;
  options.cache = false;
  options.assign_rule = AssignRule::nearest;
  options.assign_metric = Metric::euclidean;
  options.few_label = FewLabelRule::moments;
  if (preset == "paper") {
    options.subsample_test = true;
    options.least_samples = 1;
    options.counts = Counts::none;
    options.strategies = StrategyRule::support;
    options.latent = Latent::penultimate;
    options.projection = Projection::pca_box;
    options.subsampling = Subsampling::bernoulli;
    options.metric = Metric::cosine;
    options.kernel = Kernel::softmax;
    return options;
  }
  options.momentum_reset = MomentumChoice::epoch;
  options.projection = Projection::pca_cube;
  options.dimensions = 0;
  options.subsampling = Subsampling::halves;
  options.scaling = Scaling::min_max;
  options.metric = Metric::euclidean;
  options.kernel = Kernel::inverse;
  options.counts = Counts::profiled;
  options.noise_stream = NoiseStream::constant;
  return options;
}

namespace {

/// An option that would be ignored is a mistake, so it is reported; what a preset sets by itself may lie idle.
void check_applicable(const FeromaOptions& options, const FeromaOptions& preset, Problems& problems,
                      const std::string& where) {
  const auto applies = [&](std::string_view key, bool changed, bool acts, std::string_view needed) {
    if (changed && !acts) {
      problems.add("{}.{} would be ignored: it needs {}", where, key, needed);
    }
  };
  const bool mixes = options.kernel != Kernel::uniform;
  applies("warmup_auto", options.warmup_auto != preset.warmup_auto, options.warmup_rounds > kShortestWarmup,
          fmt::format("warmup_rounds > {}", kShortestWarmup));
  applies("profile.latent", options.latent != preset.latent, options.encoder != "input_moments",
          "a model as profile.encoder");
  applies("profile.subsample_test", options.subsample_test != preset.subsample_test,
          options.subsampling != Subsampling::off, "profile.subsampling");
  applies("profile.replicates", options.replicates != preset.replicates, options.subsampling != Subsampling::off,
          "profile.subsampling");
  applies("mapping.metric", options.metric != preset.metric, mixes, "a mapping.kernel that is not uniform");
  applies("mapping.join", options.join != preset.join, mixes, "a mapping.kernel that is not uniform");
  applies("mapping.threshold", options.threshold != preset.threshold, mixes, "a mapping.kernel that is not uniform");
  applies("mapping.threshold_unit", options.threshold_unit != preset.threshold_unit, options.threshold > 0,
          "mapping.threshold > 0");
  applies("mapping.global_share", options.global_share != preset.global_share, mixes,
          "a mapping.kernel that is not uniform");
  applies("mapping.fold_trim", options.fold_trim != preset.fold_trim,
          options.fold == Fold::trimmed || options.fold == Fold::krum, "mapping.fold trimmed or krum");
  applies("assign.strangers", options.strangers != preset.strangers, options.assign_metric == Metric::reliable,
          "assign.metric reliable");
  applies("mapping.scaling", options.scaling != preset.scaling,
          options.metric != Metric::reliable || options.assign_metric != Metric::reliable,
          "mapping.metric or assign.metric euclidean or cosine");
  applies("mapping.temperature", options.temperature != preset.temperature, options.kernel == Kernel::softmax,
          "mapping.kernel softmax");
  applies("mapping.width", options.width != preset.width, options.kernel == Kernel::gaussian,
          "mapping.kernel gaussian");
  applies("assign.width", options.assign_width != preset.assign_width, options.assign_rule == AssignRule::kernel,
          "assign.rule kernel");
  applies("retention.models", options.retained_models != preset.retained_models, mixes,
          "a mapping.kernel that is not uniform");
  applies("retention.distance", options.retention_distance != preset.retention_distance, options.retained_models > 0,
          "retention.models > 0");
  applies("retention.accuracy", options.retention_accuracy != preset.retention_accuracy, options.retained_models > 0,
          "retention.models > 0");
  applies("assign.loss_temperature", options.loss_temperature != preset.loss_temperature,
          options.few_label == FewLabelRule::loss, "assign.few_label loss");
}

}  // namespace

void FeromaOptions::check(const FeromaOptions& preset, Problems& problems, const std::string& where) const {
  check_applicable(*this, preset, problems, where);
  if (encoder.empty()) {
    problems.add("{}.profile.encoder must be warmup, input_moments or a file, got \"\"", where);
  }
  if (encoder == "warmup" && warmup_rounds < 1) {
    problems.add("{}.warmup_rounds must be >= 1 when profile.encoder is \"warmup\", got {}", where, warmup_rounds);
  }
  if (projection == Projection::pca_cube && encoder != "warmup") {
    problems.add("{}.profile.projection pca_cube needs profile.encoder \"warmup\", got \"{}\"", where, encoder);
  }
  if (threshold_unit == ThresholdUnit::all && threshold > 1) {
    problems.add("{}.mapping.threshold must be in 0..1 as a share of all weight, got {}", where, threshold);
  }
  if (encoder_refresh > 0) {
    const auto needs = [&](bool holds, std::string_view rule) {
      if (!holds) {
        problems.add("{}.profile.encoder_refresh {} needs {}", where, encoder_refresh, rule);
      }
    };
    needs(encoder == "warmup", "profile.encoder \"warmup\"");
    needs(projection != Projection::pca_cube, "profile.projection orthonormal or pca_box");
    needs(retained_models == 0, "retention.models 0: profiles of an earlier encoder cannot be compared");
  }
  if (norm_limit > 0 && norm_limit <= 1) {
    problems.add("{}.mapping.norm_limit must be 0 or > 1, got {}", where, norm_limit);
  }
  const bool masks = missing_class == MissingClass::mask;
  const bool reliable = metric == Metric::reliable || assign_metric == Metric::reliable;
  if (!masks && reliable) {
    problems.add("{}.profile.missing_class must be mask for the reliable metric, got {}", where,
                 name_of(missing_class));
  }
  if (reliable && least_samples != 2) {
    problems.add("{}.profile.least_samples must be 2 for the reliable metric, got {}", where, least_samples);
  }
  if (reliable && spread != SpreadKind::deviation) {
    problems.add("{}.profile.spread must be deviation for the reliable metric, got {}", where, name_of(spread));
  }
}

void FeromaOptions::adapt(const RunFacts& facts, Defaults& defaults, const std::string& where) {
  // With a model of its own as encoder it need not warm up at all.
  const int least = encoder == "warmup" ? 1 : 0;
  if (warmup_rounds >= facts.rounds && facts.rounds > least) {
    defaults.adapt(where + ".warmup_rounds", warmup_rounds, std::max(facts.rounds / 2, least),
                   fmt::format("there are {} rounds", facts.rounds));
  }
  if (facts.model != nullptr) {
    const int widest = widest_profile(*this, *facts.model);
    if (profile_shape(*this, *facts.model).conditional > widest) {
      defaults.adapt(where + ".profile.dimensions", dimensions, widest,
                     fmt::format("latents of {} have {} coordinates", facts.model->name, widest));
    }
  }
}

}  // namespace feroma
