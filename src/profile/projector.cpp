#include "feroma/profile/projector.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>

#include "feroma/core/error.h"

namespace feroma {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<float> to_floats(const RowMajor& matrix) {
  std::vector<float> values(static_cast<std::size_t>(matrix.size()));
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    values[static_cast<std::size_t>(i)] = static_cast<float>(matrix.data()[i]);
  }
  return values;
}

// Rows that are projected at once, and axes that they are projected on: the sums of both stay in registers.
constexpr std::size_t kPanelRows = 8;
constexpr std::size_t kPanelAxes = 2;
using PanelSums = std::array<std::array<double, kPanelRows>, kPanelAxes>;

/// Sums of a panel [input][row] along up to kPanelAxes axes. Plain loops, each sum in the order of the inputs: a
/// profile must not depend on a library's blocking.
PanelSums project_panel(std::span<const float> axes, std::size_t inputs, std::span<const double> panel) {
  PanelSums sums{};
  const std::size_t count = axes.size() / inputs;
  for (std::size_t c = 0; c < inputs; ++c) {
    std::array<double, kPanelAxes> weights{};
    for (std::size_t a = 0; a < count; ++a) {
      weights[a] = static_cast<double>(axes[a * inputs + c]);
    }
    for (std::size_t a = 0; a < kPanelAxes; ++a) {
      for (std::size_t r = 0; r < kPanelRows; ++r) {
        sums[a][r] += weights[a] * panel[c * kPanelRows + r];
      }
    }
  }
  return sums;
}

}  // namespace

Projector identity_projector(int width) { return {width, width, {}, {}}; }

Projector orthonormal_projector(int input, int output, Rng rng) {
  require(output >= 1 && output <= input, ErrorCode::invalid_config,
          "[profile] a projection must have 1..{} coordinates, got {}", input, output);
  RowMajor basis(output, input);
  for (Eigen::Index r = 0; r < output; ++r) {
    for (Eigen::Index c = 0; c < input; ++c) {
      basis(r, c) = rng.normal();
    }
    // Gram-Schmidt, twice for accuracy.
    for (int pass = 0; pass < 2; ++pass) {
      for (Eigen::Index q = 0; q < r; ++q) {
        basis.row(r) -= basis.row(r).dot(basis.row(q)) * basis.row(q);
      }
    }
    basis.row(r).normalize();
  }
  return {input, output, to_floats(basis), std::vector<float>(static_cast<std::size_t>(input), 0.0F)};
}

Rows uniform_points(const Bounds& bounds, int count, Rng rng) {
  const std::size_t width = bounds.lower.size();
  Rows points{static_cast<int>(width), std::vector<float>(width * static_cast<std::size_t>(count))};
  for (std::size_t i = 0; i < points.values.size(); ++i) {
    const std::size_t c = i % width;
    points.values[i] =
        static_cast<float>(rng.uniform(static_cast<double>(bounds.lower[c]), static_cast<double>(bounds.upper[c])));
  }
  return points;
}

Projector pca_projector(const Rows& points, int output) {
  const auto rows = static_cast<Eigen::Index>(points.count());
  const auto width = static_cast<Eigen::Index>(points.width);
  require(output >= 1 && output <= std::min(rows, width), ErrorCode::invalid_config,
          "[profile] PCA of {} points in {} dimensions has 1..{} axes, got {}", rows, width, std::min(rows, width),
          output);
  RowMajor centred = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                         points.values.data(), rows, width)
                         .cast<double>();
  const Eigen::RowVectorXd centre = centred.colwise().mean();
  centred.rowwise() -= centre;
  // The eigenvectors of the covariance, largest last. (A singular value decomposition takes a minute to compile.)
  const Eigen::SelfAdjointEigenSolver<RowMajor> solver(RowMajor(centred.transpose() * centred));
  RowMajor axes(output, width);
  for (Eigen::Index a = 0; a < output; ++a) {
    const Eigen::VectorXd axis = solver.eigenvectors().col(width - 1 - a);
    // scikit-learn's rule: the point farthest along the axis lies on its positive side.
    const Eigen::VectorXd along = centred * axis;
    Eigen::Index largest = 0;
    along.cwiseAbs().maxCoeff(&largest);
    axes.row(a) = (along(largest) < 0 ? -1.0 : 1.0) * axis.transpose();
  }
  return {points.width, output, to_floats(axes), to_floats(RowMajor(centre))};
}

Rows project(const Projector& projector, const Rows& rows) {
  if (rows.values.empty()) {
    return {projector.output, {}};
  }
  require(rows.width == projector.input, ErrorCode::internal, "[profile] a projector of {} inputs got rows of {}",
          projector.input, rows.width);
  if (projector.is_identity()) {
    return rows;
  }
  const auto in = static_cast<std::size_t>(projector.input);
  const auto out = static_cast<std::size_t>(projector.output);
  Rows result{projector.output, std::vector<float>(rows.count() * out)};
  std::vector<double> panel(in * kPanelRows);
  for (std::size_t first = 0; first < rows.count(); first += kPanelRows) {
    const std::size_t count = std::min(kPanelRows, rows.count() - first);
    std::fill(panel.begin(), panel.end(), 0.0);
    for (std::size_t r = 0; r < count; ++r) {
      const auto row = rows.row(first + r);
      for (std::size_t c = 0; c < in; ++c) {
        panel[c * kPanelRows + r] = static_cast<double>(row[c]) - static_cast<double>(projector.centre[c]);
      }
    }
    for (std::size_t begin = 0; begin < out; begin += kPanelAxes) {
      const std::size_t axes = std::min(kPanelAxes, out - begin);
      const PanelSums sums = project_panel(std::span(projector.components).subspan(begin * in, axes * in), in, panel);
      for (std::size_t a = 0; a < axes; ++a) {
        for (std::size_t r = 0; r < count; ++r) {
          result.values[(first + r) * out + begin + a] = static_cast<float>(sums[a][r]);
        }
      }
    }
  }
  return result;
}

}  // namespace feroma
