#pragma once

#include <optional>
#include <span>

#include "feroma/mapping/matrix.h"
#include "feroma/profile/profile.h"

namespace feroma::detail {

/**
 * How far two sets of labelled latents are apart: 2-Wasserstein between Gaussians with diagonal covariance, class by
 * class. Mass keeps its label as far as the shares of both sides allow; what is left over moves to the other classes in
 * proportion to what those lack.
 */
[[nodiscard]] double class_wasserstein2(const Profile& a, const Profile& b);

/// Pixel moments and label shares as moments of one vector: the pixels, then one coordinate per class.
[[nodiscard]] Moments with_one_hot(Moments pixels, std::span<const float> shares);

/// What is known of many numbers.
struct Extent {
  double max = 0;
  double min = 0;
  double mean = 0;
  double std = 0;  ///< population
};
/// No value at all is an internal error.
[[nodiscard]] Extent extent_of(std::span<const double> values);

/// How well distances between items tell which of them are alike.
struct PairScores {
  std::size_t pairs = 0;
  std::size_t same = 0;       ///< of one distribution
  std::optional<double> auc;  ///< the chance that two of different distributions are farther apart than two of one
  std::optional<double> reference_auc;  ///< the same by the reference distance: what the data themselves tell
  std::optional<double> rank;           ///< rank correlation with the reference distance
};
/// Every pair of items once; `ids` are their true distributions.
[[nodiscard]] PairScores score_pairs(const Matrix& distances, const Matrix& reference, std::span<const int> ids);

/// The share of `rows` whose smallest distance is on the diagonal; ties count for the diagonal. Empty: 0.
[[nodiscard]] double nearest_is_own(const Matrix& distances, std::span<const std::size_t> rows);

}  // namespace feroma::detail
