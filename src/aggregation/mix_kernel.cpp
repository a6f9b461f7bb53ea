#include "aggregation/mix_kernel.h"

#include "core/simd_targets.h"

// Highway compiles this file once per target and picks the best one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aggregation/mix_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kTileRows x kTileVectors sums, one source's vectors and a weight must fit into the registers.
constexpr std::size_t kTileVectors = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 ? 2 : 4;

/// `Vectors` neighbouring vectors of `Rows` outputs.
template <std::size_t Rows, std::size_t Vectors, class D>
void SumVectors(D d, const MixPass& pass, std::size_t at) {
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<D> sums[Rows][Vectors];
  HWY_UNROLL(6)
  for (std::size_t r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (std::size_t v = 0; v < Vectors; ++v) {
      sums[r][v] = hn::LoadU(d, pass.sums + r * kTileValues + at + v * lanes);
    }
  }
  for (const TileSource& source : pass.sources) {
    const float* HWY_RESTRICT in = pass.values[source.source] + at;
    hn::Vec<D> values[Vectors];
    HWY_UNROLL(4)
    for (std::size_t v = 0; v < Vectors; ++v) {
      values[v] = hn::LoadU(d, in + v * lanes);
    }
    HWY_UNROLL(6)
    for (std::size_t r = 0; r < Rows; ++r) {
      const auto weight = hn::Set(d, source.weights[r]);
      HWY_UNROLL(4)
      for (std::size_t v = 0; v < Vectors; ++v) {
        sums[r][v] = hn::MulAdd(weight, values[v], sums[r][v]);
      }
    }
  }
  HWY_UNROLL(6)
  for (std::size_t r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (std::size_t v = 0; v < Vectors; ++v) {
      hn::StoreU(sums[r][v], d, pass.sums + r * kTileValues + at + v * lanes);
    }
  }
}

template <std::size_t Rows>
void SumRows(const MixPass& pass) {
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 1> one;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t at = 0;
  for (; at + kTileVectors * lanes <= pass.length; at += kTileVectors * lanes) {
    SumVectors<Rows, kTileVectors>(d, pass, at);
  }
  for (; at + lanes <= pass.length; at += lanes) {
    SumVectors<Rows, 1>(d, pass, at);
  }
  // The tail goes through the same instruction, one lane at a time.
  for (; at < pass.length; ++at) {
    SumVectors<Rows, 1>(one, pass, at);
  }
}

void SumPass(const MixPass& pass) {
  if (pass.rows == kTileRows) {
    SumRows<kTileRows>(pass);
  } else {
    SumRows<1>(pass);
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(SumPass);

void mix_pass(const MixPass& pass) { HWY_DYNAMIC_DISPATCH(SumPass)(pass); }

}  // namespace feroma::detail
#endif  // HWY_ONCE
