#pragma once

#include <span>
#include <vector>

#include "feroma/mapping/matrix.h"
#include "feroma/profile/moments.h"

namespace feroma::detail {

/// Population covariance of rows.
[[nodiscard]] Matrix covariance_of(const std::vector<std::vector<double>>& rows);
/// The direction in which a covariance is largest, of length 1.
[[nodiscard]] std::vector<double> widest_direction(const Matrix& covariance);
/// Variance along a direction of length 1.
[[nodiscard]] double variance_along(const Matrix& covariance, std::span<const double> direction);
/// What each listed row adds to the rows' mean and standard deviation, times their number, to first order: the
/// covariance of these over n is that of the moments of n rows.
[[nodiscard]] std::vector<std::vector<double>> influences(const Rows& rows, std::span<const std::uint32_t> which);

}  // namespace feroma::detail
