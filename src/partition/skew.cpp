#include "feroma/partition/skew.h"

#include <algorithm>
#include <array>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Published ANDA's levels, low to high.
constexpr std::array<Range, 3> kSkews{{{0, 0.4}, {0.3, 0.7}, {0.6, 1}}};
constexpr std::array<Range, 3> kLabelSkews{{{0, 0.5}, {0.5, 1}, {1, 3}}};
constexpr std::array kAffectedClasses{2, 3, 5};
constexpr std::array kQuantityStds{0.3, 1.0, 2.0};
/// It weakens the labels' skew where nothing else differs.
constexpr double kLabelFactorAlone = 0.6;
/// trND_teDR has one strength at all levels.
constexpr Range kTrainStaysSkew{0.5, 0.5};
/// Ours, for partitions of other tools that have no levels.
constexpr std::array kAlphas{0.8, 0.6, 0.4};
constexpr std::array kShards{4, 3, 2};

/// Static levels turn by half and tint in two colours before they do more; trND_teDR has the banks of the paper.
void set_pictures(SkewParameters& parameters, const ScenarioOptions& options) {
  const bool product = options.drift_mode == DriftMode::trND_teDR && options.shift == Shift::covariate;
  switch (options.level) {
    case Level::low:
      parameters.rotations = product ? 4 : 2;
      parameters.colours = 1;
      return;
    case Level::medium:
      parameters.rotations = 2;
      parameters.colours = product ? 3 : 2;
      return;
    case Level::high:
      parameters.rotations = 4;
      parameters.colours = 3;
      return;
  }
  unreachable();
}

void override_level(SkewParameters& parameters, const ScenarioOptions& options) {
  const auto override_with = [](auto& value, auto given) { value = given == 0 ? value : given; };
  override_with(parameters.rotations, options.rotations);
  override_with(parameters.colours, options.colours);
  override_with(parameters.targeted_classes, options.classes_per_entry);
  override_with(parameters.swapped_classes, options.swapped_classes);
  override_with(parameters.quantity_std, options.quantity_std);
  override_with(parameters.alpha, options.alpha);
  override_with(parameters.classes_per_client, options.classes_per_client);
  override_with(parameters.shards_per_client, options.shards_per_client);
  if (options.skew_max > 0) {
    parameters.skew = {options.skew_min, options.skew_max};
  }
  if (options.label_skew_max > 0) {
    parameters.label_skew = {options.label_skew_min, options.label_skew_max};
    parameters.label_factor = 1;
  }
}

}  // namespace

int level_index(Level level) {
  switch (level) {
    case Level::low: return 0;
    case Level::medium: return 1;
    case Level::high: return 2;
  }
  unreachable();
}

SkewParameters skew_parameters(const ScenarioOptions& options, int classes) {
  const auto i = static_cast<std::size_t>(level_index(options.level));
  const bool train_stays = options.drift_mode == DriftMode::trND_teDR;
  SkewParameters parameters;
  set_pictures(parameters, options);
  parameters.targeted_classes = std::min(classes, kAffectedClasses[i]);
  parameters.swapped_classes = std::min(classes, train_stays ? 3 + static_cast<int>(i) : kAffectedClasses[i]);
  parameters.skew = train_stays ? kTrainStaysSkew : kSkews[i];
  parameters.label_skew = train_stays ? kTrainStaysSkew : kLabelSkews[i];
  parameters.label_factor = options.shift == Shift::label_prior && !train_stays ? kLabelFactorAlone : 1;
  parameters.quantity_std = kQuantityStds[i];
  parameters.alpha = kAlphas[i];
  parameters.classes_per_client = std::max(1, classes * (i == 0 ? 5 : i == 1 ? 3 : 2) / 10);
  parameters.shards_per_client = kShards[i];
  override_level(parameters, options);
  return parameters;
}

}  // namespace feroma
