#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "feroma/mapping/matrix.h"

namespace feroma {

enum class Normalisation {
  row,       ///< each receiver's weights sum to 1
  sinkhorn,  ///< each source is also used equally often, as the paper's convergence proof assumes
};
constexpr auto enum_names(Normalisation) {
  using enum Normalisation;
  return std::array<std::pair<Normalisation, std::string_view>, 2>{{{row, "row"}, {sinkhorn, "sinkhorn"}}};
}

/// Multiplies column j by counts[j] and renormalises rows: profile weights combined with FedAvg's.
[[nodiscard]] Matrix weigh_by_counts(Matrix weights, std::span<const std::int64_t> counts);
/// Alternates column and row scaling until both are met to 1e-9 or `iterations` are spent; rows always sum to 1.
[[nodiscard]] Matrix sinkhorn(Matrix weights, int iterations = 200);

/// 1 / sum of squared weights: how many parents a row effectively has.
[[nodiscard]] double effective_parents(std::span<const double> weights);
/// The largest factor by which disagreement between models survives one mixing: the norm of P W P, where P removes the
/// mean. 0: everybody gets the same model; 1: groups stay apart; more: a few models are copied widely.
[[nodiscard]] double contraction(const Matrix& mixing);

struct ColumnSums {
  double min = 0;
  double max = 0;
};
/// How unequally sources are used; both 1 in a doubly stochastic matrix.
[[nodiscard]] ColumnSums column_sums(const Matrix& mixing);

}  // namespace feroma
