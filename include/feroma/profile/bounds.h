#pragma once

#include <span>
#include <vector>

#include "feroma/profile/moments.h"

namespace feroma {

/// Per-coordinate range of latents.
struct Bounds {
  std::vector<float> lower;
  std::vector<float> upper;
};

/// The range of one client's rows.
[[nodiscard]] Bounds bounds_of(const Rows& rows);
/// The smallest box that holds all of them.
[[nodiscard]] Bounds merge(std::span<const Bounds> bounds);
/// The cube [0, upper]^width: one public scalar instead of a box per coordinate.
[[nodiscard]] Bounds cube(int width, double upper);

}  // namespace feroma
