#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "feroma/profile/scaler.h"

namespace feroma::detail {

/// Parents that are compared with a query at once.
constexpr std::size_t kPanelParents = 16;
/// Most queries that go over a panel together: it is read from the second-level cache once for all of them.
constexpr std::size_t kPanelQueries = 4;

/// The coordinates that tell something, in order, with their weights: what is common to all comparisons of a round.
struct CoordinateWeights {
  std::size_t size = 0;           ///< coordinates of a whole signature
  std::vector<std::size_t> kept;  ///< positions in it
  std::vector<double> weights;    ///< share / variance
  std::vector<double> shares;
  double total = 0;  ///< of the shares, summed in order
};
[[nodiscard]] CoordinateWeights coordinate_weights(const Reliability& reliability);

/// The kept coordinates of a signature.
struct CompactSignature {
  std::vector<double> values;
  std::vector<double> noise;
  bool complete = true;  ///< no class is absent
};
[[nodiscard]] CompactSignature compact(const CoordinateWeights& coordinates, const Signature& signature);

/// Up to kPanelParents compact signatures side by side, coordinate by coordinate; places without a parent are absent.
struct ParentPanel {
  std::vector<double> values;
  std::vector<double> noise;
  bool complete = false;  ///< every place has a parent, and every parent all classes
};
[[nodiscard]] ParentPanel make_panel(const CoordinateWeights& coordinates, std::span<const CompactSignature> parents);

/// Squared distances and noise floors of one query to a panel.
struct PanelDistances {
  std::array<double, kPanelParents> squared{};
  std::array<double, kPanelParents> floor{};
};
/// Up to kPanelQueries queries. The same bits as reliable_distance for each parent: lanes are parents, so no sum
/// changes its order.
[[nodiscard]] std::array<PanelDistances, kPanelQueries> compare_panel(const CoordinateWeights& coordinates,
                                                                      std::span<const CompactSignature> queries,
                                                                      const ParentPanel& panel);

}  // namespace feroma::detail
