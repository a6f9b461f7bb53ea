#include "feroma/profile/projector.h"

#include <Eigen/Eigenvalues>
#include <algorithm>

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
  // Plain loops, each sum in the order of the inputs: a profile must not depend on a library's blocking. With the sums
  // innermost they do not wait for one another.
  std::vector<double> by_input(in * out);
  for (std::size_t a = 0; a < out; ++a) {
    for (std::size_t c = 0; c < in; ++c) {
      by_input[c * out + a] = static_cast<double>(projector.components[a * in + c]);
    }
  }
  std::vector<double> sums(out);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    const auto row = rows.row(i);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t c = 0; c < in; ++c) {
      const double value = static_cast<double>(row[c]) - static_cast<double>(projector.centre[c]);
      for (std::size_t a = 0; a < out; ++a) {
        sums[a] += by_input[c * out + a] * value;
      }
    }
    std::transform(sums.begin(), sums.end(), result.values.begin() + static_cast<std::ptrdiff_t>(i * out),
                   [](double sum) { return static_cast<float>(sum); });
  }
  return result;
}

}  // namespace feroma
