#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "feroma/profile/profile.h"

namespace feroma {

/// One (offset, factor) per block of a profile vector, so that every block spans [0, 1] on the profiles it was fitted
/// to.
struct BlockScaler {
  struct Block {
    std::size_t begin = 0;
    std::size_t size = 0;
    double min = 0;
    double factor = 1;  ///< 1 where the block was constant: later values enter with their raw size
  };
  std::vector<Block> blocks;
};

/// Min-max over clients and coordinates, per block of moments.
[[nodiscard]] BlockScaler fit_block_scaler(std::span<const std::vector<float>> profiles, const ProfileShape& shape);
/// Scales a whole profile or its label-free prefix; nothing is clipped. No blocks means the identity.
[[nodiscard]] std::vector<double> scale(const BlockScaler& scaler, std::span<const float> profile);

/**
 * A profile as coordinates with the sampling variance of each: what the noise-aware distance compares.
 * A class that is absent has no moments; its coordinates are marked by a negative variance and skipped.
 */
struct Signature {
  std::vector<double> values;
  std::vector<double> noise;
};
/// `label_free` keeps only the marginal block.
[[nodiscard]] Signature signature_of(const Profile& profile, const ProfileShape& shape, bool label_free);

/**
 * How much a coordinate tells about the distribution: the share of its variance over clients that sampling noise does
 * not explain. A coordinate that only carries noise weighs nothing, whichever shift is present.
 */
struct Reliability {
  std::vector<double> share;     ///< 0..1
  std::vector<double> variance;  ///< over the fitted signatures
};
[[nodiscard]] Reliability fit_reliability(std::span<const Signature> signatures);

}  // namespace feroma
