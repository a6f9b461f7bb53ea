#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "feroma/profile/scaler.h"

namespace feroma {

enum class Metric {
  euclidean,
  cosine,    ///< 1 - cosine similarity
  reliable,  ///< noise-aware: coordinates weigh as much as they tell about the distribution
};
constexpr auto enum_names(Metric) {
  using enum Metric;
  return std::array<std::pair<Metric, std::string_view>, 3>{
      {{euclidean, "euclidean"}, {cosine, "cosine"}, {reliable, "reliable"}}};
}

[[nodiscard]] double euclidean(std::span<const double> a, std::span<const double> b);
/// 1 - cosine similarity; 1 where either vector is zero.
[[nodiscard]] double cosine(std::span<const double> a, std::span<const double> b);

/// A squared distance and how much of it two samples of the same distribution would show.
struct NoisyDistance {
  double squared = 0;
  double floor = 0;

  /// What is left above the sampling noise.
  [[nodiscard]] double excess() const { return squared > floor ? squared - floor : 0; }
};
/// Mean over coordinates, weighted by reliability, of the squared difference in units of the coordinate's variance.
[[nodiscard]] NoisyDistance reliable_distance(const Reliability& reliability, const Signature& a, const Signature& b);

}  // namespace feroma
