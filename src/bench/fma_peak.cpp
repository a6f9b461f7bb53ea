#include "bench/fma_peak.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "core/simd_targets.h"
#include "feroma/core/error.h"

// Highway compiles this file once per target and picks the best one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/fma_peak.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Two pipes of latency 4 or 5 need ten accumulators, four pipes twenty; those must fit into the registers.
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr std::size_t kAccumulators = 24;
#else
constexpr std::size_t kAccumulators = 12;
#endif

/// Written out by index, because compilers leave an array that a loop runs over in memory.
template <std::size_t... I>
double FmaRoundsOf(std::index_sequence<I...>, std::int64_t rounds) {
  const hn::ScalableTag<float> d;
  // x = x / 2 + 1 / 2 stays finite however long the loop is.
  const auto half = hn::Set(d, 0.5F);
  hn::Vec<decltype(d)> sums[] = {hn::Set(d, static_cast<float>(I))...};
  for (std::int64_t round = 0; round < rounds; ++round) {
    ((sums[I] = hn::MulAdd(sums[I], half, half)), ...);
  }
  auto total = hn::Zero(d);
  ((total = hn::Add(total, sums[I])), ...);
  const auto lanes = static_cast<double>(hn::Lanes(d));
  // A check that needs every product: without it the compiler would drop the loop.
  const float sum = hn::GetLane(hn::SumOfLanes(d, total));
  require(sum > 0, ErrorCode::internal, "[bench] the multiply-add loop must end above zero, got {}", sum);
  return static_cast<double>(rounds) * sizeof...(I) * lanes;
}

double FmaRounds(std::int64_t rounds) { return FmaRoundsOf(std::make_index_sequence<kAccumulators>(), rounds); }

/// One row of a register tile: `Vectors` neighbouring vectors times one weight.
template <std::size_t Rows, std::size_t... V, class D>
double TileRoundsOf(std::index_sequence<V...>, D d, std::span<const float> values, std::int64_t rounds) {
  constexpr std::size_t kVectors = sizeof...(V);
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t step = kVectors * lanes;
  float weights[Rows];
  std::fill(std::begin(weights), std::end(weights), 0.5F);
  hn::Vec<D> sums[Rows][kVectors];
  for (std::size_t r = 0; r < Rows; ++r) {
    ((sums[r][V] = hn::Set(d, 1.0F)), ...);
  }
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (std::size_t at = 0; at + step <= values.size(); at += step) {
      const hn::Vec<D> in[] = {hn::LoadU(d, values.data() + at + V * lanes)...};
      HWY_UNROLL(6)
      for (std::size_t r = 0; r < Rows; ++r) {
        const auto weight = hn::Set(d, weights[r]);
        ((sums[r][V] = hn::MulAdd(in[V], weight, sums[r][V])), ...);
      }
    }
  }
  auto total = hn::Zero(d);
  for (std::size_t r = 0; r < Rows; ++r) {
    ((total = hn::Add(total, sums[r][V])), ...);
  }
  const float sum = hn::GetLane(hn::SumOfLanes(d, total));
  require(sum > 0, ErrorCode::internal, "[bench] the tile loop must end above zero, got {}", sum);
  return static_cast<double>(rounds) * static_cast<double>(values.size() / step * step) * Rows;
}

double TileRounds(std::span<const float> values, std::int64_t rounds) {
  return TileRoundsOf<6>(std::make_index_sequence<kAccumulators / 6>(), hn::ScalableTag<float>(), values, rounds);
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(FmaRounds);

HWY_EXPORT(TileRounds);

double run_tile_loop(std::span<const float> values, std::int64_t rounds) {
  return HWY_DYNAMIC_DISPATCH(TileRounds)(values, rounds);
}

double run_fma_loop(std::int64_t rounds) { return HWY_DYNAMIC_DISPATCH(FmaRounds)(rounds); }

}  // namespace feroma::detail
#endif  // HWY_ONCE
