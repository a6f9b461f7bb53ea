#include "feroma/core/portable_math.h"

#include <cmath>
#include <limits>

#include "core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/portable_math.cpp"
// foreach_target.h must come first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using One = hn::CappedTag<double, 1>;

double ExpOne(double x) { return hn::GetLane(hn::Exp(One(), hn::Set(One(), x))); }
double LogOne(double x) { return hn::GetLane(hn::Log(One(), hn::Set(One(), x))); }
double CosOne(double x) { return hn::GetLane(hn::Cos(One(), hn::Set(One(), x))); }

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma {

namespace detail {
HWY_EXPORT(ExpOne);
HWY_EXPORT(LogOne);
HWY_EXPORT(CosOne);
}  // namespace detail

using namespace detail;  // NOLINT: the dispatch tables live there

// Highway leaves the values at the ends of the domains open.
double portable_exp(double x) {
  constexpr double kLargest = 709.782712893384;  // exp of it is the largest finite number
  if (std::isnan(x)) {
    return x;
  }
  return x > kLargest ? std::numeric_limits<double>::infinity() : HWY_DYNAMIC_DISPATCH(ExpOne)(x);
}

double portable_log(double x) {
  using Limits = std::numeric_limits<double>;
  if (!(x > 0)) {
    return x == 0 ? -Limits::infinity() : Limits::quiet_NaN();
  }
  return std::isinf(x) ? x : HWY_DYNAMIC_DISPATCH(LogOne)(x);
}

double portable_cos(double x) {
  return std::isfinite(x) ? HWY_DYNAMIC_DISPATCH(CosOne)(x) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace feroma
#endif  // HWY_ONCE
