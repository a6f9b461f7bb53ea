#include "feroma/mapping/kernel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "feroma/core/error.h"
#include "feroma/core/median.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Keeps 1/d finite for identical profiles; the reference implementation's constant.
constexpr double kInverseOffset = 1e-8;
/// An energy that underflows to exactly zero, which is what "infinitely far" should weigh.
constexpr double kNothing = 1000;

std::vector<double> normalised(std::vector<double> weights) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) {
    weight /= total;
  }
  return weights;
}

/// exp(-(x - min x)), normalised: the largest term is 1, so nothing overflows and the sum is never zero.
std::vector<double> exp_weights(std::span<const double> energies) {
  const double lowest = *std::min_element(energies.begin(), energies.end());
  std::vector<double> weights(energies.size());
  for (std::size_t i = 0; i < energies.size(); ++i) {
    weights[i] = portable_exp(lowest - energies[i]);
  }
  return normalised(std::move(weights));
}

void require_parents(std::size_t count) {
  require(count > 0, ErrorCode::internal, "[mapping] weights need at least one parent");
}

}  // namespace

std::vector<double> softmax_weights(std::span<const double> distances, double temperature) {
  require_parents(distances.size());
  double lowest = std::numeric_limits<double>::infinity();
  for (const double distance : distances) {
    lowest = std::isfinite(distance) ? std::min(lowest, distance / temperature) : lowest;
  }
  if (!std::isfinite(lowest)) {
    return uniform_weights(distances.size());
  }
  std::vector<double> energies;
  for (const double distance : distances) {
    // The loss of a model that a liar sent may be anything; what is not a number weighs nothing.
    energies.push_back(std::isfinite(distance) ? distance / temperature : lowest + kNothing);
  }
  return exp_weights(energies);
}

std::vector<double> inverse_weights(std::span<const double> distances) {
  require_parents(distances.size());
  std::vector<double> weights(distances.size());
  for (std::size_t i = 0; i < distances.size(); ++i) {
    weights[i] = 1.0 / (distances[i] + kInverseOffset);
  }
  return normalised(std::move(weights));
}

std::vector<double> gaussian_weights(std::span<const double> squared, double width) {
  require_parents(squared.size());
  const double lowest = *std::min_element(squared.begin(), squared.end());
  std::vector<double> energies(squared.size());
  for (std::size_t i = 0; i < squared.size(); ++i) {
    const double above = squared[i] - lowest;
    energies[i] = above == 0 ? 0 : (width > 0 ? std::min(above / (2 * width * width), kNothing) : kNothing);
  }
  return exp_weights(energies);
}

std::vector<double> uniform_weights(std::size_t count) {
  require_parents(count);
  return std::vector<double>(count, 1.0 / static_cast<double>(count));
}

double gaussian_width(const Matrix& distances, double share) {
  if (distances.empty()) {
    return 0;
  }
  std::vector<double> smallest;
  for (std::size_t r = 0; r < distances.rows; ++r) {
    const auto row = distances.row(r);
    smallest.push_back(*std::min_element(row.begin(), row.end()));
  }
  return share * median(std::move(smallest));
}

std::vector<double> threshold_weights(std::span<const double> weights, double threshold) {
  std::vector<double> kept(weights.begin(), weights.end());
  double total = 0;
  for (double& weight : kept) {
    weight = weight < threshold ? 0 : weight;
    total += weight;
  }
  return total > 0 ? normalised(std::move(kept)) : uniform_weights(weights.size());
}

}  // namespace feroma
