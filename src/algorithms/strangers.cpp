#include "algorithms/strangers.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Entropies are means over hundreds of samples, so small differences count.
constexpr double kTemperature = 0.02;

double entropy_of(float probability) {
  const auto p = static_cast<double>(probability);
  return p > 0 ? -p * portable_log(p) : 0;
}

/// Mean entropy of a model's predictions; each label of multi-label data is a prediction of its own.
double mean_entropy(std::span<const float> probabilities, bool multi_label, std::size_t samples) {
  double sum = 0;
  for (const float p : probabilities) {
    sum += entropy_of(p) + (multi_label ? entropy_of(1.0F - p) : 0.0);
  }
  return sum / static_cast<double>(std::max<std::size_t>(samples, 1));
}

}  // namespace

std::vector<double> strangeness(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                                std::span<const Receiver> receivers, std::span<const Parent> parents,
                                std::span<const std::size_t> leaders) {
  const Gauge gauge = fit_gauge(options.metric, shape, /*label_free=*/true, scaler, profiles_of(parents));
  std::vector<double> ratios;
  for (std::size_t r = 0; r < receivers.size(); ++r) {
    const Parent& leader = parents[leaders[r]];
    const Distances distances = compare(gauge, std::span(&receivers[r].profile, 1), std::span(&leader.profile, 1));
    const double noise = distances.floor.at(0, 0);
    ratios.push_back(noise > 0 ? std::sqrt(distances.squared.at(0, 0) / noise) : 0);
  }
  return ratios;
}

bool is_stranger(const FeromaOptions& options, const ProfileShape& shape, const BlockScaler& scaler,
                 const Profile& query, std::span<const Parent> parents) {
  const std::vector<Profile> old = profiles_of(parents);
  const Gauge gauge = fit_gauge(options.assign_metric, shape, /*label_free=*/true, scaler, old);
  const Distances distances = compare(gauge, std::span(&query, 1), old);
  const auto row = distances.squared.row(0);
  const auto nearest = static_cast<std::size_t>(std::min_element(row.begin(), row.end()) - row.begin());
  const double noise = distances.floor.at(0, nearest);
  return noise > 0 && row[nearest] > kPartnerRatio * kPartnerRatio * noise;
}

std::vector<double> confidence_weights(Trainer& trainer, const View& data, std::span<const Parent> parents) {
  std::vector<double> entropies;
  for (const Parent& parent : parents) {
    entropies.push_back(
        mean_entropy(trainer.probabilities(*parent.model, data), data.samples->multi_label(), data.size()));
  }
  return softmax_weights(entropies, kTemperature);
}

}  // namespace feroma
