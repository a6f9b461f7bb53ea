#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/mapping/matrix.h"

namespace feroma {

/// How a distance becomes a weight.
enum class Kernel {
  softmax,   ///< exp(-d / temperature), the paper's Eq. 3
  inverse,   ///< 1 / (d + 1e-8), the reference implementation
  gaussian,  ///< exp(-(d^2 - min d^2) / (2 s^2)), s measured from the data
  uniform,   ///< every parent alike: FedAvg
};
constexpr auto enum_names(Kernel) {
  using enum Kernel;
  return std::array<std::pair<Kernel, std::string_view>, 4>{
      {{softmax, "softmax"}, {inverse, "inverse"}, {gaussian, "gaussian"}, {uniform, "uniform"}}};
}

/// Each returns one row of weights that sum to 1.
[[nodiscard]] std::vector<double> softmax_weights(std::span<const double> distances, double temperature);
[[nodiscard]] std::vector<double> inverse_weights(std::span<const double> distances);
/// `squared` are squared distances; a width of 0 shares equally between the nearest.
[[nodiscard]] std::vector<double> gaussian_weights(std::span<const double> squared, double width);
[[nodiscard]] std::vector<double> uniform_weights(std::size_t count);

/// `share` times the median over rows of the row's smallest distance; 0 for an empty matrix.
[[nodiscard]] double gaussian_width(const Matrix& distances, double share);

/// Drops weights below `threshold` and renormalises; if none survives the row falls back to uniform.
[[nodiscard]] std::vector<double> threshold_weights(std::span<const double> weights, double threshold);

}  // namespace feroma
