#include "feroma/partition/quantity.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Small clients are part of the shift, empty ones are not: so often are sizes drawn anew to avoid them.
constexpr int kTries = 1000;

double draw_weight(double std, Rng& rng) {
  for (;;) {
    const double weight = 0.5 + std * rng.normal();
    if (weight >= 0 && weight <= 1) {
      return weight;
    }
  }
}

std::vector<std::size_t> draw_sizes(std::size_t total, std::size_t clients, double std, Rng& rng) {
  std::vector<double> weights(clients);
  double sum = 0;
  for (double& weight : weights) {
    weight = draw_weight(std, rng);
    sum += weight;
  }
  std::vector<std::size_t> sizes(clients);
  std::size_t given = 0;
  for (std::size_t k = 0; k < clients; ++k) {
    sizes[k] = std::min(static_cast<std::size_t>(weights[k] / sum * static_cast<double>(total)), total - given);
    given += sizes[k];
  }
  for (std::size_t k = 0; given < total; k = (k + 1) % clients) {
    ++sizes[k];
    ++given;
  }
  return sizes;
}

}  // namespace

std::vector<std::size_t> unequal_sizes(std::size_t total, std::size_t clients, double std, Rng rng) {
  for (int i = 0; i < kTries; ++i) {
    std::vector<std::size_t> sizes = draw_sizes(total, clients, std, rng);
    if (*std::min_element(sizes.begin(), sizes.end()) > 0) {
      return sizes;
    }
  }
  fail(ErrorCode::invalid_config,
       "scenario.clients must be small enough that unequal sizes leave everyone some of {} samples, got {}", total,
       clients);
}

}  // namespace feroma
