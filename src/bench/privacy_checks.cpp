#include "bench/privacy_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "bench/requirement_parts.h"
#include "feroma/privacy/accountant.h"
#include "feroma/privacy/release.h"

namespace feroma::detail {
namespace {

/// Where the sum over a discrete Gaussian ends, in standard deviations; the rest is below 1e-31 of it.
constexpr double kTail = 12;

double norm_over_bound(const SumShape& shape, std::span<const std::int64_t> block) {
  double norm = 0;
  for (const std::int64_t value : block) {
    const auto size = static_cast<double>(value);
    norm += shape.clip == Clip::box ? std::abs(size) : size * size;
  }
  const double share = norm / static_cast<double>(block_bound(shape));
  return shape.clip == Clip::box ? share : std::sqrt(share);
}

/// The sum of exp(-(k - centre)^2 / (2 variance)) over all integers that matter.
double gaussian_sum(double centre, std::uint64_t variance) {
  const auto reach = static_cast<std::int64_t>(kTail * std::sqrt(static_cast<double>(variance))) + 2;
  double sum = 0;
  for (std::int64_t k = -reach; k <= reach; ++k) {
    const double off = static_cast<double>(k) - centre;
    sum += std::exp(-off * off / (2 * static_cast<double>(variance)));
  }
  return sum;
}

/// Known answers of the accountant at (rho, delta): epsilon by minimising over Renyi orders, computed independently.
struct KnownEpsilon {
  double rho, delta, epsilon;
};
constexpr std::array<KnownEpsilon, 7> kKnown{{{0.01, 1e-5, 0.545726},
                                              {0.1, 1e-5, 1.914239},
                                              {0.5, 1e-5, 4.728387},
                                              {1, 1e-5, 7.077197},
                                              {5, 1e-5, 19.047260},
                                              {0.1, 1e-6, 2.141939},
                                              {1, 1e-6, 7.766217}}};

}  // namespace

WorstRecord climb_to_bound(const SumShape& shape, int steps, Rng rng) {
  constexpr double kStep = 0.3;
  std::vector<float> x(static_cast<std::size_t>(shape.coordinates), 0.3F);
  WorstRecord worst{block_of(shape, x), 0};
  worst.share = norm_over_bound(shape, worst.block);
  for (int i = 0; i < steps; ++i) {
    std::vector<float> moved = x;
    moved[rng.below(moved.size())] += static_cast<float>(kStep * rng.normal());
    std::vector<std::int64_t> block = block_of(shape, moved);
    const double share = norm_over_bound(shape, block);
    if (share >= worst.share) {
      worst = {std::move(block), share};
      x = std::move(moved);
    }
  }
  return worst;
}

double laplace_log_ratio(std::span<const std::int64_t> block, double rate) {
  // At the output o the ratio is rate (|o| - |o - t|) per entry: largest, rate |t|, at o = t.
  double sum = 0;
  for (const std::int64_t value : block) {
    sum += rate * std::abs(static_cast<double>(value));
  }
  return sum;
}

double renyi_divergence(double order, std::int64_t shift, std::uint64_t variance) {
  // P^a Q^(1-a) is again a Gaussian, around a * shift; only the fraction of that matters for the sum over integers.
  const double centre = order * static_cast<double>(shift);
  const double fraction = centre - std::floor(centre);
  const double rest = fraction == 0 ? 0 : std::log(gaussian_sum(fraction, variance) / gaussian_sum(0, variance));
  return centre * static_cast<double>(shift) / (2 * static_cast<double>(variance)) + rest / (order - 1);
}

void measure_privacy(Requirement& r4) {
  using enum Target::Side;
  constexpr int kSteps = 40000;
  const SumShape box = box_shape(10, 1);
  const SumShape ball{.coordinates = 10, .classes = 1};
  const WorstRecord in_box = climb_to_bound(box, kSteps, Rng(1));
  const WorstRecord in_ball = climb_to_bound(ball, kSteps, Rng(2));
  r4.results.push_back({"sensitivity_box", "largest record found by hill climbing over the integer bound, pure",
                        in_box.share, Target{at_most, 1}});
  r4.results.push_back({"sensitivity_ball", "the same, gaussian", in_ball.share, Target{at_most, 1}});
  double pure = 0;
  for (const double epsilon : {0.1, 1.0, 10.0}) {
    const LaplaceScale scale = laplace_scale(sensitivity(box, Neighbours::add_remove), epsilon);
    const double rate = static_cast<double>(scale.denominator) / static_cast<double>(scale.scale);
    pure = std::max(pure, laplace_log_ratio(in_box.block, rate) / epsilon);
  }
  r4.results.push_back(
      {"pure_loss", "largest log-ratio of probabilities for that record over epsilon", pure, Target{at_most, 1}});
  double gaussian = 0;
  for (const double rho : {0.5, 1.8}) {
    const std::uint64_t variance = gaussian_variance(sensitivity(ball, Neighbours::add_remove), rho);
    for (const double order : {1.5, 2.0, 8.0, 32.0}) {
      double divergence = 0;
      for (const std::int64_t value : in_ball.block) {
        divergence += renyi_divergence(order, value, variance);
      }
      gaussian = std::max(gaussian, divergence / (order * rho));
    }
  }
  r4.results.push_back(
      {"gaussian_loss", "largest Renyi divergence for that record over order times rho", gaussian, Target{at_most, 1}});
  double error = 0;
  for (const KnownEpsilon& known : kKnown) {
    error = std::max(error, std::abs(epsilon_of(known.rho, known.delta) / known.epsilon - 1));
  }
  r4.results.push_back({"accountant_error", "largest relative error of the accountant against known answers", error,
                        Target{at_most, 1e-5}});
}

}  // namespace feroma::detail
