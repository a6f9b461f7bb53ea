#include "mapping/distance_panel.h"

#include <algorithm>

#include "core/simd_targets.h"

// Highway compiles this file once per target and picks the best one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "mapping/distance_panel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "feroma/core/error.h"

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/**
 * Sums of neighbouring parents; two vectors of each hide the latency of the additions, and several queries share what
 * is loaded of the panel. Where everybody is `Complete`, all have the same total and nobody is masked.
 */
template <bool Complete, std::size_t Queries, std::size_t Vectors, class D>
void SumParents(D d, const CoordinateWeights& coordinates, std::span<const CompactSignature> queries,
                const ParentPanel& panel, std::size_t at, std::span<PanelDistances> out) {
  static_assert(Complete || Queries == 1, "queries lack different classes");
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  hn::Vec<D> squared[Queries][Vectors];
  hn::Vec<D> floor[Queries][Vectors];
  hn::Vec<D> total[Vectors];
  HWY_UNROLL(2)
  for (std::size_t v = 0; v < Vectors; ++v) {
    total[v] = Complete ? hn::Set(d, coordinates.total) : zero;
    HWY_UNROLL(4)
    for (std::size_t q = 0; q < Queries; ++q) {
      squared[q][v] = zero;
      floor[q][v] = zero;
    }
  }
  const double* values[Queries];
  const double* noises[Queries];
  for (std::size_t q = 0; q < Queries; ++q) {
    values[q] = queries[q].values.data();
    noises[q] = queries[q].noise.data();
  }
  for (std::size_t i = 0; i < coordinates.weights.size(); ++i) {
    if (!Complete && noises[0][i] < 0) {
      continue;
    }
    const auto weight = hn::Set(d, coordinates.weights[i]);
    HWY_UNROLL(2)
    for (std::size_t v = 0; v < Vectors; ++v) {
      const std::size_t place = i * kPanelParents + at + v * lanes;
      const auto other = hn::LoadU(d, panel.noise.data() + place);
      const auto parent = hn::LoadU(d, panel.values.data() + place);
      HWY_UNROLL(4)
      for (std::size_t q = 0; q < Queries; ++q) {
        const auto difference = hn::Sub(hn::Set(d, values[q][i]), parent);
        auto distance_term = hn::Mul(hn::Mul(weight, difference), difference);
        auto floor_term = hn::Mul(weight, hn::Add(hn::Set(d, noises[q][i]), other));
        if (!Complete) {
          // No sum is ever negative, so adding zero for an absent parent leaves its bits alone.
          const auto absent = hn::Lt(other, zero);
          distance_term = hn::IfThenZeroElse(absent, distance_term);
          floor_term = hn::IfThenZeroElse(absent, floor_term);
          total[v] = hn::Add(total[v], hn::IfThenZeroElse(absent, hn::Set(d, coordinates.shares[i])));
        }
        squared[q][v] = hn::Add(squared[q][v], distance_term);
        floor[q][v] = hn::Add(floor[q][v], floor_term);
      }
    }
  }
  HWY_UNROLL(2)
  for (std::size_t v = 0; v < Vectors; ++v) {
    const auto divisor = hn::IfThenElse(hn::Gt(total[v], zero), total[v], hn::Set(d, 1.0));
    HWY_UNROLL(4)
    for (std::size_t q = 0; q < Queries; ++q) {
      hn::StoreU(hn::Div(squared[q][v], divisor), d, out[q].squared.data() + at + v * lanes);
      hn::StoreU(hn::Div(floor[q][v], divisor), d, out[q].floor.data() + at + v * lanes);
    }
  }
}

void ComparePanel(const CoordinateWeights& coordinates, std::span<const CompactSignature> queries,
                  const ParentPanel& panel, std::span<PanelDistances> out) {
  const hn::CappedTag<double, kPanelParents / 2> d;
  const std::size_t lanes = hn::Lanes(d);
  const bool complete =
      panel.complete && std::all_of(queries.begin(), queries.end(), [](const auto& query) { return query.complete; });
  for (std::size_t at = 0; at < kPanelParents; at += 2 * lanes) {
    if (complete && queries.size() == kPanelQueries) {
      SumParents<true, kPanelQueries, 2>(d, coordinates, queries, panel, at, out);
      continue;
    }
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (panel.complete && queries[q].complete) {
        SumParents<true, 1, 2>(d, coordinates, queries.subspan(q, 1), panel, at, out.subspan(q, 1));
      } else {
        SumParents<false, 1, 2>(d, coordinates, queries.subspan(q, 1), panel, at, out.subspan(q, 1));
      }
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(ComparePanel);

CoordinateWeights coordinate_weights(const Reliability& reliability) {
  CoordinateWeights coordinates;
  coordinates.size = reliability.share.size();
  for (std::size_t i = 0; i < reliability.share.size(); ++i) {
    if (reliability.share[i] > 0) {
      coordinates.kept.push_back(i);
      coordinates.weights.push_back(reliability.share[i] / reliability.variance[i]);
      coordinates.shares.push_back(reliability.share[i]);
      coordinates.total += reliability.share[i];
    }
  }
  return coordinates;
}

CompactSignature compact(const CoordinateWeights& coordinates, const Signature& signature) {
  require(signature.values.size() == coordinates.size, ErrorCode::internal,
          "[mapping] profiles of {} and {} values cannot be compared", signature.values.size(), coordinates.size);
  CompactSignature kept;
  for (const std::size_t i : coordinates.kept) {
    kept.values.push_back(signature.values[i]);
    kept.noise.push_back(signature.noise[i]);
    kept.complete = kept.complete && !(signature.noise[i] < 0);
  }
  return kept;
}

ParentPanel make_panel(const CoordinateWeights& coordinates, std::span<const CompactSignature> parents) {
  const std::size_t size = coordinates.kept.size() * kPanelParents;
  ParentPanel panel{std::vector<double>(size), std::vector<double>(size, -1.0), parents.size() == kPanelParents};
  for (std::size_t p = 0; p < parents.size(); ++p) {
    panel.complete = panel.complete && parents[p].complete;
    for (std::size_t i = 0; i < coordinates.kept.size(); ++i) {
      panel.values[i * kPanelParents + p] = parents[p].values[i];
      panel.noise[i * kPanelParents + p] = parents[p].noise[i];
    }
  }
  return panel;
}

std::array<PanelDistances, kPanelQueries> compare_panel(const CoordinateWeights& coordinates,
                                                        std::span<const CompactSignature> queries,
                                                        const ParentPanel& panel) {
  std::array<PanelDistances, kPanelQueries> distances;
  HWY_DYNAMIC_DISPATCH(ComparePanel)(coordinates, queries, panel, distances);
  return distances;
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
