#include "feroma/privacy/options.h"

#include <algorithm>

#include "feroma/privacy/noisy_moments.h"

namespace feroma {
namespace {

/// Options that say how to release must not be written down beside a mode that releases nothing, or otherwise.
void check_applicable(const PrivacyOptions& options, Problems& problems) {
  const PrivacyOptions untouched;
  const auto applies = [&](std::string_view key, bool changed, bool acts, std::string_view needed) {
    if (changed && !acts) {
      problems.add("privacy.{} would be ignored: it needs {}", key, needed);
    }
  };
  constexpr std::string_view guarded = "privacy.mode pure or gaussian";
  applies("epsilon_total", options.epsilon_total != untouched.epsilon_total, options.mode != PrivacyMode::off,
          "a privacy.mode that is not off");
  applies("max_releases", options.max_releases != untouched.max_releases, options.guarded(), guarded);
  applies("test_releases", options.test_releases != untouched.test_releases, options.guarded(), guarded);
  applies("neighbours", options.neighbours != untouched.neighbours, options.guarded(), guarded);
  applies("noise", options.noise != untouched.noise, options.guarded(), guarded);
  applies("bounds", options.bounds != untouched.bounds, options.guarded(), guarded);
  applies("recenter", options.recenter != untouched.recenter, options.guarded(), guarded);
  applies("versions_disjoint", options.versions_disjoint != untouched.versions_disjoint, options.guarded(), guarded);
  applies("when_spent", options.when_spent != untouched.when_spent, options.guarded(), guarded);
  applies("ledger", options.ledger != untouched.ledger, options.guarded(), guarded);
  applies("max_labels", options.max_labels != untouched.max_labels, options.guarded(), guarded);
  applies("jitter", options.jitter != untouched.jitter, options.guarded(), guarded);
  applies("weights", options.weight_count + options.weight_sum + options.weight_square > 0, options.guarded(), guarded);
  const bool gaussian = options.mode == PrivacyMode::gaussian;
  applies("delta_total", options.delta_total != untouched.delta_total, gaussian, "privacy.mode gaussian");
  applies("max_records", options.max_records != untouched.max_records, gaussian, "privacy.mode gaussian");
  applies("calibration", options.calibration != untouched.calibration, gaussian, "privacy.mode gaussian");
  const bool histogram = options.bounds == BoundsRule::histogram;
  applies("bounds_epsilon", options.bounds_epsilon != untouched.bounds_epsilon, histogram, "privacy.bounds histogram");
  applies("radius_quantile", options.radius_quantile != untouched.radius_quantile, histogram,
          "privacy.bounds histogram");
}

}  // namespace

PrivacyBudget PrivacyOptions::budget() const {
  return {epsilon_total, mode == PrivacyMode::pure ? 0.0 : delta_total,
          max_releases + (bounds == BoundsRule::histogram ? 1 : 0), versions_disjoint, calibration};
}

ReleasePlan PrivacyOptions::plan() const {
  const double for_bounds = bounds == BoundsRule::histogram ? bounds_epsilon : 0;
  const int adding_up = versions_disjoint ? 1 : max_releases;
  return mode == PrivacyMode::pure ? plan_pure(epsilon_total, adding_up, for_bounds)
                                   : plan_gaussian(epsilon_total, delta_total, adding_up, for_bounds, calibration);
}

PrivacyOptions PrivacyOptions::of_test_client() const {
  PrivacyOptions options = *this;
  options.max_releases = std::min(max_releases, test_releases);
  return options;
}

SumShape PrivacyOptions::shape(int coordinates, int classes, bool multi_label) const {
  SumShape shape = mode == PrivacyMode::pure ? box_shape(coordinates, classes)
                                             : SumShape{.coordinates = coordinates, .classes = classes};
  shape.labels = multi_label ? std::min(max_labels, classes) : 1;
  shape.multi_label = multi_label;
  const auto replace = [](double& weight, double given) { weight = given > 0 ? given : weight; };
  replace(shape.count, weight_count);
  replace(shape.sum, weight_sum);
  replace(shape.square, weight_square);
  return shape;
}

void PrivacyOptions::check(Problems& problems) const {
  check_applicable(*this, problems);
  if (!guarded()) {
    return;
  }
  const double largest_delta = 0.1 / max_records;
  if (mode == PrivacyMode::gaussian && delta_total > largest_delta * (1 + 1e-9)) {
    problems.add("privacy.delta_total must be <= {:g} for clients of up to {} records (max_records), got {:g}",
                 largest_delta, max_records, delta_total);
  }
  if (calibration == Calibration::analytic && bounds == BoundsRule::histogram) {
    problems.add("privacy.calibration analytic adds up Gaussian releases alone: it needs privacy.bounds fixed");
  }
  try {
    // Weights and budgets that cannot work together are told by those who use them.
    static_cast<void>(release_noise(shape(2, 2, false), neighbours, plan().release));
  } catch (const Error& error) {
    problems.add("{}", error.what());
  }
}

}  // namespace feroma
