#include "feroma/algorithms/feroma_options.h"

namespace feroma {

FeromaOptions feroma_preset(std::string_view preset) {
  FeromaOptions options;
  if (preset == "auto") {
    return options;
  }
  require(preset == "paper" || preset == "reference", ErrorCode::invalid_config,
          "[feroma] preset must be one of auto, paper, reference, got \"{}\"", preset);
  // Common to the printed method and its implementation.
  options.full_marginal = false;
  options.data = ProfileData::held_out;
  options.max_samples = 0;
  options.missing_class = MissingClass::minus_one;
  options.cache = false;
  options.assign_rule = AssignRule::nearest;
  options.assign_metric = Metric::euclidean;
  options.few_label = FewLabelRule::moments;
  if (preset == "paper") {
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
  return options;
}

void FeromaOptions::check(Problems& problems, const std::string& where) const {
  if (encoder.empty()) {
    problems.add("{}.profile.encoder must be warmup, input_moments or a file, got \"\"", where);
  }
  if (encoder == "warmup" && warmup_rounds < 1) {
    problems.add("{}.warmup_rounds must be >= 1 when profile.encoder is \"warmup\", got {}", where, warmup_rounds);
  }
  if (warmup_auto && warmup_rounds < 1) {
    problems.add("{}.warmup_auto needs warmup_rounds >= 1, got {}", where, warmup_rounds);
  }
  if (projection == Projection::pca_cube && encoder != "warmup") {
    problems.add("{}.profile.projection pca_cube needs profile.encoder \"warmup\", got \"{}\"", where, encoder);
  }
  const bool masks = missing_class == MissingClass::mask;
  if (!masks && (metric == Metric::reliable || assign_metric == Metric::reliable)) {
    problems.add("{}.profile.missing_class must be mask for the reliable metric, got minus_one", where);
  }
}

}  // namespace feroma
