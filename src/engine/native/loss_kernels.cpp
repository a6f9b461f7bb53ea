#include "engine/native/loss_kernels.h"

#include "engine/native/kernels.h"
#include "engine/native/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/loss_kernels.cpp"
// foreach_target.h must come first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using WideTag = hn::CappedTag<double, kGroupLanes>;
using WideVec = hn::Vec<WideTag>;
using HalfTag = hn::Rebind<float, WideTag>;
constexpr int kWideLanes = FEROMA_VEC_LANES(double);

HWY_INLINE WideVec load_wide(const float* values) { return hn::PromoteTo(WideTag(), hn::LoadU(HalfTag(), values)); }
/// A smaller slope moves no weight, but on its way back through the layers it becomes subnormal, and a processor may
/// take a hundred times longer over such numbers: a model that is sure of its data would train several times slower.
constexpr double kSmallestSlope = 1e-18;
/// Stores scale * slope, and zero where the scale is: lanes without a sample may hold anything.
HWY_INLINE void store_scaled(WideVec scale, WideVec slope, float* out) {
  WideVec values = hn::IfThenZeroElse(hn::Eq(scale, hn::Zero(WideTag())), hn::Mul(scale, slope));
  values = hn::IfThenZeroElse(hn::Lt(hn::Abs(values), hn::Set(WideTag(), kSmallestSlope)), values);
  hn::StoreU(hn::DemoteTo(HalfTag(), values), HalfTag(), out);
}

/// The softmax of some lanes: the largest logit, and the sum of the exponentials of what the others are below it.
struct Softmax {
  WideVec largest;
  WideVec total;
  WideVec poison;  ///< zero, or not a number where a logit is not: maxima and exponentials may swallow that
};

HWY_INLINE Softmax softmax_of(const LossTask& task, int lane) {
  const WideTag d;
  WideVec largest = load_wide(task.logits + lane);
  for (int c = 1; c < task.classes; ++c) {
    largest = hn::Max(largest, load_wide(task.logits + c * kGroupLanes + lane));
  }
  WideVec total = hn::Zero(d);
  WideVec poison = hn::Zero(d);
  for (int c = 0; c < task.classes; ++c) {
    const WideVec logit = load_wide(task.logits + c * kGroupLanes + lane);
    total = hn::Add(total, hn::Exp(d, hn::Sub(logit, largest)));
    poison = hn::MulAdd(hn::Zero(d), logit, poison);
  }
  return {largest, total, poison};
}

void cross_entropy(const LossTask& task, int lane, float* gradient, double* losses) {
  const WideTag d;
  const WideVec label = hn::LoadU(d, task.labels + lane);
  const WideVec scale = hn::LoadU(d, task.scales + lane);
  const Softmax softmax = softmax_of(task, lane);
  WideVec chosen = hn::Zero(d);
  for (int c = 0; c < task.classes; ++c) {
    const WideVec z = hn::Sub(load_wide(task.logits + c * kGroupLanes + lane), softmax.largest);
    const auto here = hn::Eq(label, hn::Set(d, static_cast<double>(c)));
    chosen = hn::IfThenElse(here, z, chosen);
    const WideVec probability = hn::Div(hn::Exp(d, z), softmax.total);
    const WideVec target = hn::IfThenElseZero(here, hn::Set(d, 1.0));
    store_scaled(scale, hn::Sub(probability, target), gradient + c * kGroupLanes + lane);
  }
  const WideVec loss = hn::Mul(scale, hn::Sub(hn::Log(d, softmax.total), chosen));
  hn::StoreU(hn::Add(loss, softmax.poison), d, losses + lane);
}

/// H = -sum p log p; its gradient is -p (log p + H).
void entropy(const LossTask& task, int lane, float* gradient, double* losses) {
  const WideTag d;
  const WideVec scale = hn::LoadU(d, task.scales + lane);
  const Softmax softmax = softmax_of(task, lane);
  const WideVec log_total = hn::Log(d, softmax.total);
  WideVec total = hn::Zero(d);
  for (int c = 0; c < task.classes; ++c) {
    const WideVec z = hn::Sub(load_wide(task.logits + c * kGroupLanes + lane), softmax.largest);
    const WideVec log_p = hn::Sub(z, log_total);
    total = hn::NegMulAdd(hn::Exp(d, log_p), log_p, total);
  }
  for (int c = 0; c < task.classes; ++c) {
    const WideVec z = hn::Sub(load_wide(task.logits + c * kGroupLanes + lane), softmax.largest);
    const WideVec log_p = hn::Sub(z, log_total);
    const WideVec slope = hn::Neg(hn::Mul(hn::Exp(d, log_p), hn::Add(log_p, total)));
    store_scaled(scale, slope, gradient + c * kGroupLanes + lane);
  }
  hn::StoreU(hn::Add(hn::Mul(scale, total), softmax.poison), d, losses + lane);
}

/// max(z, 0) - z t + log(1 + exp(-|z|)), which never overflows; its gradient is sigmoid(z) - t.
void binary_cross_entropy(const LossTask& task, int lane, float* gradient, double* losses) {
  const WideTag d;
  const WideVec one = hn::Set(d, 1.0);
  const WideVec scale = hn::Div(hn::LoadU(d, task.scales + lane), hn::Set(d, static_cast<double>(task.classes)));
  WideVec total = hn::Zero(d);
  for (int c = 0; c < task.classes; ++c) {
    const WideVec z = load_wide(task.logits + c * kGroupLanes + lane);
    const WideVec target = load_wide(task.targets + c * kGroupLanes + lane);
    const WideVec small = hn::Exp(d, hn::Neg(hn::Abs(z)));
    const WideVec above = hn::IfThenZeroElse(hn::Lt(z, hn::Zero(d)), z);  // keeps a value that is not a number
    total = hn::Add(total, hn::Add(hn::NegMulAdd(z, target, above), hn::Log(d, hn::Add(one, small))));
    const WideVec denominator = hn::Add(one, small);
    const WideVec sigmoid =
        hn::IfThenElse(hn::Lt(z, hn::Zero(d)), hn::Div(small, denominator), hn::Div(one, denominator));
    store_scaled(scale, hn::Sub(sigmoid, target), gradient + c * kGroupLanes + lane);
  }
  hn::StoreU(hn::Mul(scale, total), d, losses + lane);
}

void LossesOfGroup(Loss loss, const LossTask& task, float* gradient, double* losses) {
  for (int lane = 0; lane < kGroupLanes; lane += kWideLanes) {
    switch (loss) {
      case Loss::cross_entropy: cross_entropy(task, lane, gradient, losses); break;
      case Loss::binary_cross_entropy: binary_cross_entropy(task, lane, gradient, losses); break;
      case Loss::entropy: entropy(task, lane, gradient, losses); break;
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(LossesOfGroup);

void losses_of_group(Loss loss, const LossTask& task, float* gradient, double* losses) {
  HWY_DYNAMIC_DISPATCH(LossesOfGroup)(loss, task, gradient, losses);
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
