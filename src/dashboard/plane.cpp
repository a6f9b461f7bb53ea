#include "dashboard/plane.h"

#include <algorithm>
#include <cmath>

namespace feroma::dashboard {
namespace {

/// Enough for components that differ by a few percent; people look at the result, nothing is computed from it.
constexpr int kSteps = 60;

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

/// Removes what `axis` has along `other` and brings it to length 1; zeros where nothing is left.
void straighten(std::vector<double>& axis, const std::vector<double>* other) {
  if (other != nullptr) {
    const double along = dot(axis, *other);
    for (std::size_t i = 0; i < axis.size(); ++i) {
      axis[i] -= along * (*other)[i];
    }
  }
  const double length = std::sqrt(dot(axis, axis));
  for (double& value : axis) {
    value = length > 1e-12 ? value / length : 0;
  }
}

/// Multiplies an axis by the points' covariance (times their number); returns the variance along it.
double step(std::span<const double> points, std::vector<double>& axis) {
  std::vector<double> next(axis.size());
  double variance = 0;
  for (std::size_t at = 0; at < points.size(); at += axis.size()) {
    const auto point = points.subspan(at, axis.size());
    const double along = dot(point, axis);
    variance += along * along;
    for (std::size_t i = 0; i < axis.size(); ++i) {
      next[i] += along * point[i];
    }
  }
  axis = std::move(next);
  return variance;
}

}  // namespace

std::array<double, 2> Plane::place(std::span<const float> point) const {
  std::array<double, 2> at{};
  for (std::size_t i = 0; i < centre.size(); ++i) {
    const double off = std::isfinite(point[i]) ? static_cast<double>(point[i]) - centre[i] : 0;
    at[0] += off * axes[0][i];
    at[1] += off * axes[1][i];
  }
  return at;
}

Plane fit_plane(std::span<const float> points, std::size_t cols) {
  const std::size_t rows = cols == 0 ? 0 : points.size() / cols;
  Plane plane{std::vector<double>(cols), {std::vector<double>(cols), std::vector<double>(cols)}, {}};
  std::vector<double> counts(cols);
  for (std::size_t i = 0; i < rows * cols; ++i) {
    if (std::isfinite(points[i])) {
      plane.centre[i % cols] += static_cast<double>(points[i]);
      counts[i % cols] += 1;
    }
  }
  for (std::size_t c = 0; c < cols; ++c) {
    plane.centre[c] /= std::max(1.0, counts[c]);
  }
  std::vector<double> off(rows * cols);
  for (std::size_t i = 0; i < off.size(); ++i) {
    off[i] = std::isfinite(points[i]) ? static_cast<double>(points[i]) - plane.centre[i % cols] : 0;
  }
  const double all = dot(off, off);
  for (std::size_t a = 0; a < 2; ++a) {
    std::vector<double>& axis = plane.axes[a];
    const std::vector<double>* other = a == 0 ? nullptr : &plane.axes[0];
    for (std::size_t i = 0; i < cols; ++i) {
      // Any start that is not at right angles to the answer will do; this one is the same every time.
      axis[i] = 1 + 0.5 * std::sin(static_cast<double>(i + 1) * (a == 0 ? 1.7 : 2.9));
    }
    straighten(axis, other);
    for (int i = 0; i < kSteps; ++i) {
      static_cast<void>(step(off, axis));
      straighten(axis, other);
    }
    std::vector<double> copy = axis;
    plane.explained[a] = all > 0 ? step(off, copy) / all : 0;
    const auto largest =
        std::max_element(axis.begin(), axis.end(), [](double x, double y) { return std::abs(x) < std::abs(y); });
    if (largest != axis.end() && *largest < 0) {
      std::transform(axis.begin(), axis.end(), axis.begin(), [](double x) { return -x; });
    }
  }
  return plane;
}

}  // namespace feroma::dashboard
