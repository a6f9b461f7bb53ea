#pragma once

#include <vector>

#include "feroma/core/rng.h"
#include "feroma/profile/bounds.h"
#include "feroma/profile/moments.h"

namespace feroma {

/// A linear map from latents to fewer coordinates, the same for every client. Empty components mean the identity.
struct Projector {
  int input = 0;
  int output = 0;
  std::vector<float> components;  ///< output x input
  std::vector<float> centre;      ///< input; subtracted before projecting

  [[nodiscard]] bool is_identity() const { return components.empty(); }
};

[[nodiscard]] Projector identity_projector(int width);
/// Rows of an orthonormal basis of a random subspace: what PCA of isotropic noise gives, without pretending.
[[nodiscard]] Projector orthonormal_projector(int input, int output, Rng rng);
/// Points drawn uniformly in the box.
[[nodiscard]] Rows uniform_points(const Bounds& bounds, int count, Rng rng);
/// The leading principal axes of the points; signs as scikit-learn chooses them.
[[nodiscard]] Projector pca_projector(const Rows& points, int output);

[[nodiscard]] Rows project(const Projector& projector, const Rows& rows);

}  // namespace feroma
