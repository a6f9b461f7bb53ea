#include "bench/fma_peak.h"

#include <cstddef>
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

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(FmaRounds);

double run_fma_loop(std::int64_t rounds) { return HWY_DYNAMIC_DISPATCH(FmaRounds)(rounds); }

}  // namespace feroma::detail
#endif  // HWY_ONCE
