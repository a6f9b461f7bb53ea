#include "feroma/mapping/match.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "mapping/distance_panel.h"

namespace feroma {
namespace {

std::vector<std::vector<double>> scaled_vectors(const Gauge& gauge, std::span<const Profile> profiles) {
  std::vector<std::vector<double>> vectors;
  for (const Profile& profile : profiles) {
    std::vector<float> values = encode(profile, gauge.shape);
    if (gauge.label_free) {
      values.resize(gauge.shape.label_free_size());
    }
    vectors.push_back(scale(gauge.scaler, values));
  }
  return vectors;
}

std::vector<Signature> signatures_of(const Gauge& gauge, std::span<const Profile> profiles) {
  std::vector<Signature> signatures;
  for (const Profile& profile : profiles) {
    signatures.push_back(signature_of(profile, gauge.shape, gauge.label_free));
  }
  return signatures;
}

/// The kept coordinates of every profile.
std::vector<detail::CompactSignature> compact_signatures(const Gauge& gauge,
                                                         const detail::CoordinateWeights& coordinates,
                                                         std::span<const Profile> profiles) {
  std::vector<detail::CompactSignature> signatures;
  for (const Profile& profile : profiles) {
    signatures.push_back(compact(coordinates, signature_of(profile, gauge.shape, gauge.label_free)));
  }
  return signatures;
}

Distances compare_signatures(const Gauge& gauge, std::span<const Profile> queries, std::span<const Profile> parents,
                             const Parallel& parallel) {
  const detail::CoordinateWeights coordinates = detail::coordinate_weights(gauge.reliability);
  const std::vector<detail::CompactSignature> signatures = compact_signatures(gauge, coordinates, queries);
  Distances distances{Matrix(queries.size(), parents.size()), Matrix(queries.size(), parents.size())};
  parallel((parents.size() + detail::kPanelParents - 1) / detail::kPanelParents, [&](std::size_t task) {
    const std::size_t first = task * detail::kPanelParents;
    const auto group = parents.subspan(first, std::min(detail::kPanelParents, parents.size() - first));
    // A panel stays in the second-level cache while every query passes over it.
    const detail::ParentPanel panel = make_panel(coordinates, compact_signatures(gauge, coordinates, group));
    for (std::size_t begin = 0; begin < queries.size(); begin += detail::kPanelQueries) {
      const auto some = std::span(signatures).subspan(begin, std::min(detail::kPanelQueries, queries.size() - begin));
      const auto compared = compare_panel(coordinates, some, panel);
      for (std::size_t q = 0; q < some.size(); ++q) {
        const std::size_t r = begin + q;
        const detail::PanelDistances& d = compared[q];
        for (std::size_t c = 0; c < group.size(); ++c) {
          // Equal profiles have no distance, so only such pairs need the full comparison.
          const bool same = !(d.squared[c] > 0) && queries[r] == group[c];
          distances.floor.at(r, first + c) = d.floor[c];
          distances.squared.at(r, first + c) = same ? d.floor[c] : d.squared[c];
        }
      }
    }
  });
  return distances;
}

Distances compare_vectors(const Gauge& gauge, std::span<const Profile> queries, std::span<const Profile> parents,
                          const Parallel& parallel) {
  const auto a = scaled_vectors(gauge, queries);
  const auto b = scaled_vectors(gauge, parents);
  Distances distances{Matrix(queries.size(), parents.size()), Matrix(queries.size(), parents.size())};
  parallel(a.size(), [&](std::size_t r) {
    for (std::size_t c = 0; c < b.size(); ++c) {
      const double d = gauge.metric == Metric::cosine ? cosine(a[r], b[c]) : euclidean(a[r], b[c]);
      distances.squared.at(r, c) = d * d;
    }
  });
  return distances;
}

std::vector<double> row_weights(const WeightRule& rule, std::span<const double> plain, std::span<const double> excess,
                                double width) {
  switch (rule.kernel) {
    case Kernel::softmax: return softmax_weights(plain, rule.temperature);
    case Kernel::inverse: return inverse_weights(plain);
    case Kernel::gaussian: return gaussian_weights(excess, width);
    case Kernel::uniform: return uniform_weights(plain.size());
  }
  unreachable();
}

}  // namespace

Gauge fit_gauge(Metric metric, const ProfileShape& shape, bool label_free, BlockScaler scaler,
                std::span<const Profile> profiles) {
  Gauge gauge{metric, shape, label_free, std::move(scaler), {}};
  if (metric == Metric::reliable) {
    gauge.reliability = fit_reliability(signatures_of(gauge, profiles));
  }
  return gauge;
}

Matrix Distances::plain() const {
  Matrix result = squared;
  for (double& value : result.values) {
    value = std::sqrt(value);
  }
  return result;
}

Matrix Distances::excess() const {
  Matrix result = squared;
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = std::max(0.0, squared.values[i] - floor.values[i]);
  }
  return result;
}

Distances compare(const Gauge& gauge, std::span<const Profile> queries, std::span<const Profile> parents,
                  const Parallel& parallel) {
  return gauge.metric == Metric::reliable ? compare_signatures(gauge, queries, parents, parallel)
                                          : compare_vectors(gauge, queries, parents, parallel);
}

double kernel_width(const WeightRule& rule, const Distances& distances) {
  return gaussian_width(distances.plain(), rule.width);
}

double kernel_width_among(const WeightRule& rule, const Gauge& gauge, std::span<const Profile> parents) {
  if (parents.size() < 2) {
    return 0;
  }
  Matrix plain = compare(gauge, parents, parents).plain();
  for (std::size_t i = 0; i < parents.size(); ++i) {
    plain.at(i, i) = std::numeric_limits<double>::infinity();  // a parent is not its own neighbour
  }
  return gaussian_width(plain, rule.width);
}

Matrix weights_of(const WeightRule& rule, const Distances& distances, double width) {
  const Matrix plain = distances.plain();
  const Matrix excess = distances.excess();
  Matrix weights(plain.rows, plain.cols);
  for (std::size_t r = 0; r < plain.rows; ++r) {
    std::vector<double> row = row_weights(rule, plain.row(r), excess.row(r), width);
    if (rule.threshold > 0) {
      row = threshold_weights(row, rule.threshold);
    }
    std::copy(row.begin(), row.end(), weights.row(r).begin());
  }
  return weights;
}

}  // namespace feroma
