#pragma once

#include <span>
#include <vector>

#include "feroma/core/parallel.h"
#include "feroma/mapping/distance.h"
#include "feroma/mapping/kernel.h"
#include "feroma/mapping/matrix.h"
#include "feroma/profile/profile.h"
#include "feroma/profile/scaler.h"

namespace feroma {

/// Everything needed to compare profiles, fitted once per round.
struct Gauge {
  Metric metric = Metric::euclidean;
  ProfileShape shape;
  bool label_free = false;
  BlockScaler scaler;       ///< euclidean and cosine; no blocks means unscaled
  Reliability reliability;  ///< reliable
};

/// A gauge for `metric`; the reliable one learns from the profiles it will compare.
[[nodiscard]] Gauge fit_gauge(Metric metric, const ProfileShape& shape, bool label_free, BlockScaler scaler,
                              std::span<const Profile> profiles);

/// Two samples of one distribution are rarely further apart than this times their noise (MNIST P(X): 0.6 to 1.0 times,
/// others more than twice).
inline constexpr double kPartnerRatio = 1.7;

/// Squared distances of every query to every parent, and the part of each that is sampling noise.
struct Distances {
  Matrix squared;
  Matrix floor;

  /// Square roots of `squared`.
  [[nodiscard]] Matrix plain() const;
  /// What is left above the noise, never negative.
  [[nodiscard]] Matrix excess() const;
};
/**
 * A query that is the very profile of a parent (a cached one: same data version) is no nearer than a fresh sample of
 * the same distribution would be: its squared distance is the noise floor, not zero.
 */
[[nodiscard]] Distances compare(const Gauge& gauge, std::span<const Profile> queries, std::span<const Profile> parents,
                                const Parallel& parallel = in_turn);

/// How distances become weights.
struct WeightRule {
  Kernel kernel = Kernel::gaussian;
  double temperature = 1;  ///< softmax
  double width = 0.5;      ///< gaussian: times the median smallest distance
  double threshold = 0;    ///< weights below it are dropped; 0 keeps all
};

/// The gaussian kernel's width for queries that arrive together: a share of how far the nearest parent typically is,
/// which is sampling noise where others have the same distribution.
[[nodiscard]] double kernel_width(const WeightRule& rule, const Distances& distances);
/// The width for a query that arrives alone: from the parents' distances to one another.
[[nodiscard]] double kernel_width_among(const WeightRule& rule, const Gauge& gauge, std::span<const Profile> parents);
/// One row of weights per query, each summing to 1.
[[nodiscard]] Matrix weights_of(const WeightRule& rule, const Distances& distances, double width);

}  // namespace feroma
