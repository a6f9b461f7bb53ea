#include "algorithms/retention.h"

#include <algorithm>

namespace feroma {
namespace {

/// Tells whether two profiles may be of one distribution.
class Nearness {
 public:
  Nearness(const FeromaOptions& options, Gauge gauge, std::span<const Parent> present)
      : gauge_(std::move(gauge)), factor_(options.retention_distance) {
    if (gauge_.metric != Metric::reliable) {
      // A distance without a noise floor is measured by how far neighbours are from one another.
      const WeightRule neighbours{Kernel::gaussian, 1, /*width=*/1, 0};
      reach_ = factor_ * kernel_width_among(neighbours, gauge_, profiles_of(present));
    }
  }

  /// Whether any of `others` is near.
  [[nodiscard]] bool any(const Parent& parent, std::span<const Parent> others) const {
    if (others.empty()) {
      return false;
    }
    const Distances distances = compare(gauge_, std::span(&parent.profile, 1), profiles_of(others));
    for (std::size_t i = 0; i < others.size(); ++i) {
      const double squared = distances.squared.at(0, i);
      const bool near = gauge_.metric == Metric::reliable ? squared <= factor_ * distances.floor.at(0, i)
                                                          : squared <= reach_ * reach_;
      if (near) {
        return true;
      }
    }
    return false;
  }

 private:
  Gauge gauge_;
  double factor_;
  double reach_ = 0;
};

double mean_accuracy(std::span<const Parent> parents) {
  double sum = 0;
  for (const Parent& parent : parents) {
    sum += parent.held_out;
  }
  return parents.empty() ? 0.0 : sum / static_cast<double>(parents.size());
}

}  // namespace

std::vector<Parent> retained_parents(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                                     std::span<const Parent> earlier, std::span<const Parent> present) {
  if (options.retained_models == 0 || earlier.empty() || present.empty()) {
    return {};
  }
  std::vector<Parent> candidates(earlier.begin(), earlier.end());
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.round > b.round; });
  std::vector<Profile> pool = profiles_of(earlier);
  const std::vector<Profile> now = profiles_of(present);
  pool.insert(pool.end(), now.begin(), now.end());
  const Nearness nearness(options, fit_gauge(options.metric, shape, /*label_free=*/false, scaler, pool), present);
  const double wanted = options.retention_accuracy * mean_accuracy(present);
  std::vector<Parent> kept;
  for (const Parent& candidate : candidates) {
    const bool full = kept.size() == static_cast<std::size_t>(options.retained_models);
    if (!full && candidate.held_out >= wanted && !nearness.any(candidate, present) && !nearness.any(candidate, kept)) {
      kept.push_back(candidate);
    }
  }
  return kept;
}

}  // namespace feroma
