#pragma once

#include <span>

#include "feroma/core/rng.h"

namespace feroma {

/// How unlike two histograms are, from 0 to ln 2 (Jensen-Shannon); each is divided by its sum. 0 where one is empty.
[[nodiscard]] double jensen_shannon(std::span<const double> p, std::span<const double> q);

/// Samples as rows of one width, borrowed.
struct RowsView {
  std::span<const float> values;
  std::size_t width = 1;

  [[nodiscard]] std::size_t count() const { return values.size() / width; }
  [[nodiscard]] std::span<const float> row(std::size_t i) const { return values.subspan(i * width, width); }
};

/// The median distance between two different rows; 1 where there is none above 0.
[[nodiscard]] double median_distance(RowsView rows);

/// The mean of exp(-|x - y|^2 / (2 bandwidth^2)) over all pairs of a row of x and a row of y.
[[nodiscard]] double mean_kernel(RowsView x, RowsView y, double bandwidth);

/// The squared maximum mean discrepancy, every pair counted, so that it is 0 between a sample and itself. Both samples
/// have rows.
[[nodiscard]] double squared_mmd(RowsView x, RowsView y, double bandwidth);

/// The `quantile` of squared_mmd over random ways to deal out all rows into samples of the same sizes.
[[nodiscard]] double permuted_mmd(RowsView x, RowsView y, double bandwidth, int permutations, double quantile, Rng rng);

}  // namespace feroma
