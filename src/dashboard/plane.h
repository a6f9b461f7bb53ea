#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace feroma::dashboard {

/// The plane in which points differ most: how profiles of hundreds of numbers are drawn on a page.
struct Plane {
  std::vector<double> centre;
  std::array<std::vector<double>, 2> axes;  ///< of length 1; zeros where the points do not differ
  std::array<double, 2> explained{};        ///< shares of all variance

  [[nodiscard]] std::array<double, 2> place(std::span<const float> point) const;
};

/// The first two principal components of points, row by row, of `cols` numbers each. The same points give the same
/// plane; each axis points to where its largest entry is positive. What is not finite counts as the mean.
[[nodiscard]] Plane fit_plane(std::span<const float> points, std::size_t cols);

}  // namespace feroma::dashboard
