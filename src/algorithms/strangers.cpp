#include "algorithms/strangers.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/entropy.h"
#include "feroma/mapping/neighbours.h"

namespace feroma {
namespace {

/// Information is a mean over hundreds of samples, so small differences count.
constexpr double kTemperature = 0.02;

/// What a model's predictions tell of the samples, in nats: how sure it is of each, and of different classes.
double information(std::span<const float> probabilities, std::size_t classes) {
  const std::size_t samples = probabilities.size() / classes;
  std::vector<double> sums(classes);
  double unsure = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    const auto row = probabilities.subspan(i * classes, classes);
    unsure += entropy_of(row);
    for (std::size_t u = 0; u < classes; ++u) {
      sums[u] += static_cast<double>(row[u]);
    }
  }
  std::vector<float> shares;
  for (const double sum : sums) {
    shares.push_back(static_cast<float>(sum / static_cast<double>(samples)));
  }
  return entropy_of(shares) - unsure / static_cast<double>(samples);
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
  const Round newest = newest_round(parents);
  std::size_t nearest = parents.size();
  for (std::size_t c = 0; c < parents.size(); ++c) {
    const bool present = parents[c].round == newest;
    if (present && (nearest == parents.size() || row[c] < row[nearest])) {
      nearest = c;
    }
  }
  const double noise = distances.floor.at(0, nearest);
  // Pairs of all parents are compared last: few clients are far from everybody.
  return noise > 0 && row[nearest] > kPartnerRatio * kPartnerRatio * noise && class_shares_alike(old);
}

std::vector<double> confidence_weights(Trainer& trainer, const View& data, std::span<const ParametersPtr> models) {
  std::vector<double> losses;
  for (const ParametersPtr& model : models) {
    const std::vector<float> probabilities = trainer.probabilities(*model, data);
    losses.push_back(-information(probabilities, probabilities.size() / data.size()));
  }
  return softmax_weights(losses, kTemperature);
}

}  // namespace feroma
