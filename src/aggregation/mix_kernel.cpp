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

void AddScaled(float* HWY_RESTRICT out, float weight, const float* HWY_RESTRICT source, std::size_t size) {
  const hn::ScalableTag<float> d;
  const auto w = hn::Set(d, weight);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= size; i += lanes) {
    hn::StoreU(hn::MulAdd(w, hn::LoadU(d, source + i), hn::LoadU(d, out + i)), d, out + i);
  }
  // The tail goes through the same instruction, one lane at a time.
  const hn::CappedTag<float, 1> one;
  for (; i < size; ++i) {
    hn::StoreU(hn::MulAdd(hn::Set(one, weight), hn::LoadU(one, source + i), hn::LoadU(one, out + i)), one, out + i);
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(AddScaled);

void add_scaled_(std::span<float> out, float weight, std::span<const float> source) {
  HWY_DYNAMIC_DISPATCH(AddScaled)(out.data(), weight, source.data(), out.size());
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
