#include "feroma/privacy/release.h"

#include <cmath>
#include <numeric>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr double kEpsilonSteps = 1 << 20;
constexpr double kLargestEpsilon = 1 << 20;

}  // namespace

LaplaceScale laplace_scale(std::int64_t sensitivity, double epsilon) {
  require(sensitivity > 0 && sensitivity < std::int64_t{1} << 40, ErrorCode::internal,
          "[privacy] a sensitivity must be in 1..2^40, got {}", sensitivity);
  require(epsilon >= 1 / kEpsilonSteps && epsilon <= kLargestEpsilon, ErrorCode::invalid_config,
          "[privacy] a release's epsilon must be in 2^-20..2^20, got {}", epsilon);
  const auto steps = static_cast<std::uint64_t>(std::floor(epsilon * kEpsilonSteps));
  const std::uint64_t scale = static_cast<std::uint64_t>(sensitivity) << 20;
  const std::uint64_t common = std::gcd(scale, steps);
  return {scale / common, steps / common};
}

std::uint64_t gaussian_variance(std::int64_t squared_sensitivity, double rho) {
  require(squared_sensitivity > 0 && rho > 0, ErrorCode::invalid_config,
          "[privacy] Gaussian noise needs a sensitivity and a rho above 0, got {} and {}", squared_sensitivity, rho);
  const double variance = std::ceil(static_cast<double>(squared_sensitivity) / (2 * rho));
  require(variance < std::ldexp(1.0, 52), ErrorCode::invalid_config,
          "[privacy] rho = {} needs noise beyond 2^26 units; raise epsilon_total or lower max_releases", rho);
  // The quotient was rounded; one more covers it where it was rounded down.
  return static_cast<std::uint64_t>(variance) + 1;
}

std::vector<std::int64_t> release(const SumShape& shape, Neighbours neighbours, double cost,
                                  std::span<const std::int64_t> sums, EntropySource& entropy) {
  require(sums.size() == shape.size(), ErrorCode::internal, "[privacy] a release must have {} sums, got {}",
          shape.size(), sums.size());
  DiscreteNoise noise(entropy);
  const std::int64_t reach = sensitivity(shape, neighbours);
  std::vector<std::int64_t> noisy(sums.begin(), sums.end());
  if (shape.clip == Clip::box) {
    const LaplaceScale scale = laplace_scale(reach, cost);
    for (std::int64_t& value : noisy) {
      value += noise.laplace(scale.scale, scale.denominator);
    }
  } else {
    const std::uint64_t variance = gaussian_variance(reach, cost);
    for (std::int64_t& value : noisy) {
      value += noise.gaussian(variance);
    }
  }
  return noisy;
}

}  // namespace feroma
