#include "engine/native/targets.h"
#include "feroma/core/error.h"
#include "feroma/engine/sgd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/sgd_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Every product is rounded before it is added, so that machines with and without fused products agree.
void SgdStep(float* HWY_RESTRICT params, float* HWY_RESTRICT velocity, const float* HWY_RESTRICT gradient,
             std::size_t count, float rate, float momentum) {
  const hn::ScalableTag<float> d;
  const auto lanes = hn::Lanes(d);
  const auto factor = hn::Set(d, momentum);
  const auto step = hn::Set(d, rate);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto v = hn::Add(hn::Mul(factor, hn::LoadU(d, velocity + i)), hn::LoadU(d, gradient + i));
    hn::StoreU(v, d, velocity + i);
    hn::StoreU(hn::Sub(hn::LoadU(d, params + i), hn::Mul(step, v)), d, params + i);
  }
  for (; i < count; ++i) {
    velocity[i] = momentum * velocity[i] + gradient[i];
    params[i] -= rate * velocity[i];
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma {

namespace detail {
HWY_EXPORT(SgdStep);
}

void sgd_step(std::span<float> params, std::span<float> velocity, std::span<const float> gradient, double learning_rate,
              double momentum) {
  require(velocity.size() == params.size() && gradient.size() == params.size(), ErrorCode::internal,
          "[engine] {} parameters need as many velocities and gradients, got {} and {}", params.size(), velocity.size(),
          gradient.size());
  using namespace detail;  // NOLINT: the dispatch table lives there
  HWY_DYNAMIC_DISPATCH(SgdStep)
  (params.data(), velocity.data(), gradient.data(), params.size(), static_cast<float>(learning_rate),
   static_cast<float>(momentum));
}

}  // namespace feroma
#endif  // HWY_ONCE
