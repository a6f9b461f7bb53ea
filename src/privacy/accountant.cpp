#include "feroma/privacy/accountant.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

// Renyi orders less one, in logarithms: a grid, then the best one's neighbourhood. Any order gives a valid bound.
constexpr double kFirstOrder = -4;
constexpr double kLastOrder = 5;
constexpr int kOrders = 200;
constexpr int kHalvings = 80;

/// (7.1): what an order `1 + 10^exponent` says of rho-zCDP.
double epsilon_at(double rho, double delta, double exponent) {
  const double over = std::pow(10.0, exponent);
  const double order = 1 + over;
  return rho * order - std::log(order * delta) / over + std::log(over / order);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// The delta of the Gaussian mechanism whose sensitivity is `mu` noises, at epsilon.
double gaussian_delta(double mu, double epsilon) {
  const double tail = normal_cdf(-mu / 2 - epsilon / mu);
  return normal_cdf(mu / 2 - epsilon / mu) - (tail > 0 ? std::exp(epsilon + std::log(tail)) : 0.0);
}

/// The largest value at which a rising function is still within the limit; `low` is.
template <class Rising>
double largest_within(Rising&& rising, double limit, double low, double high) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (rising(middle) <= limit ? low : high) = middle;
  }
  return low;
}

void check_budget(double epsilon, double delta) {
  require(std::isfinite(epsilon) && epsilon > 0, ErrorCode::invalid_config,
          "[privacy] epsilon must be above 0 and finite, got {}", epsilon);
  require(delta > 0 && delta < 1, ErrorCode::invalid_config, "[privacy] delta must be between 0 and 1, got {}", delta);
}

ReleasePlan divide(double total, double bounds, int releases) {
  require(releases >= 1, ErrorCode::invalid_config, "[privacy] max_releases must be >= 1, got {}", releases);
  require(bounds >= 0 && bounds < total, ErrorCode::invalid_config,
          "[privacy] the bounds' share must leave something for profiles, got {} of {}", bounds, total);
  return {total, bounds, (total - bounds) / releases, releases};
}

}  // namespace

double epsilon_of(double rho, double delta) {
  require(rho >= 0 && delta > 0 && delta < 1, ErrorCode::internal,
          "[privacy] epsilon needs rho >= 0 and delta between 0 and 1, got {} and {}", rho, delta);
  if (rho == 0) {
    return 0;
  }
  const double step = (kLastOrder - kFirstOrder) / (kOrders - 1);
  double best = kFirstOrder;
  for (int i = 1; i < kOrders; ++i) {
    const double exponent = kFirstOrder + i * step;
    best = epsilon_at(rho, delta, exponent) < epsilon_at(rho, delta, best) ? exponent : best;
  }
  double low = best - step;
  double high = best + step;
  for (int i = 0; i < kHalvings; ++i) {
    const double third = (high - low) / 3;
    if (epsilon_at(rho, delta, low + third) < epsilon_at(rho, delta, high - third)) {
      high -= third;
    } else {
      low += third;
    }
  }
  return std::max(0.0, std::min(epsilon_at(rho, delta, best), epsilon_at(rho, delta, (low + high) / 2)));
}

double rho_of(double epsilon, double delta) {
  check_budget(epsilon, delta);
  // rho alone is below the epsilon that it gives.
  return largest_within([&](double rho) { return epsilon_of(rho, delta); }, epsilon, 0, epsilon);
}

double rho_of_pure(double epsilon) { return epsilon * epsilon / 2; }

double analytic_noise(double epsilon, double delta) {
  check_budget(epsilon, delta);
  double high = 1;
  while (gaussian_delta(high, epsilon) <= delta) {
    high *= 2;
  }
  return 1 / largest_within([&](double mu) { return mu > 0 ? gaussian_delta(mu, epsilon) : 0.0; }, delta, 0, high);
}

double analytic_epsilon(double rho, double delta) {
  require(rho >= 0 && delta > 0 && delta < 1, ErrorCode::internal,
          "[privacy] epsilon needs rho >= 0 and delta between 0 and 1, got {} and {}", rho, delta);
  const double mu = std::sqrt(2 * rho);
  if (mu == 0 || gaussian_delta(mu, 0) <= delta) {
    return 0;
  }
  // The larger epsilon, the smaller the delta that it needs; zCDP's epsilon is always enough.
  double low = 0;
  double high = epsilon_of(rho, delta);
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (gaussian_delta(mu, middle) <= delta ? high : low) = middle;
  }
  return high;
}

double noise_of(double rho) { return 1 / std::sqrt(2 * rho); }

ReleasePlan plan_gaussian(double epsilon, double delta, int releases, double bounds_epsilon, Calibration calibration) {
  if (calibration == Calibration::zcdp) {
    return divide(rho_of(epsilon, delta), rho_of_pure(bounds_epsilon), releases);
  }
  require(bounds_epsilon == 0, ErrorCode::invalid_config,
          "[privacy] the analytic calibration adds up Gaussian releases alone, got bounds_epsilon = {}",
          bounds_epsilon);
  const double noise = analytic_noise(epsilon, delta);
  return divide(1 / (2 * noise * noise), 0, releases);
}

ReleasePlan plan_pure(double epsilon, int releases, double bounds_epsilon) {
  require(std::isfinite(epsilon) && epsilon > 0, ErrorCode::invalid_config,
          "[privacy] epsilon must be above 0 and finite, got {}", epsilon);
  return divide(epsilon, bounds_epsilon, releases);
}

}  // namespace feroma
