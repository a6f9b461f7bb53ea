#include "engine/native/targets.h"
#include "engine/native/value_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/max_pool_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kGroupLanes>;
using Vec = hn::Vec<Tag>;
constexpr int kVecLanes = FEROMA_VEC_LANES(float);

/// Calls use(in offset, out offset) for some lanes of every window.
template <class Use>
HWY_INLINE void for_each_window(const Pooling& task, Use use) {
  for (int channel = 0; channel < task.out_extent.channels; ++channel) {
    for (int y = 0; y < task.out_extent.height; ++y) {
      for (int x = 0; x < task.out_extent.width; ++x) {
        const std::ptrdiff_t in = channel * task.in_strides.channel + y * task.rows * task.in_strides.row +
                                  x * task.columns * task.in_strides.column;
        const std::ptrdiff_t out =
            channel * task.out_strides.channel + y * task.out_strides.row + x * task.out_strides.column;
        for (int lane = 0; lane < kGroupLanes; lane += kVecLanes) {
          use(in + lane, out + lane);
        }
      }
    }
  }
}

void MaxPool(const Pooling& task, const float* in, float* out) {
  const Tag d;
  for_each_window(task, [&](std::ptrdiff_t from, std::ptrdiff_t to) HWY_ATTR {
    Vec largest = hn::Load(d, in + from);
    for (int r = 0; r < task.rows; ++r) {
      for (int c = 0; c < task.columns; ++c) {
        const Vec x = hn::Load(d, in + from + r * task.in_strides.row + c * task.in_strides.column);
        // Not (x <= largest) is true for a value that is not a number, which stays from then on.
        largest = hn::IfThenElse(hn::Or(hn::Le(x, largest), hn::Ne(largest, largest)), largest, x);
      }
    }
    hn::Store(largest, d, out + to);
  });
}

void ClearPicture(const Pooling& task, float* picture) {
  const Tag d;
  for (int channel = 0; channel < task.in_extent.channels; ++channel) {
    for (int y = 0; y < task.in_extent.height; ++y) {
      float* const row = picture + channel * task.in_strides.channel + y * task.in_strides.row;
      for (int i = 0; i < task.in_extent.width * kGroupLanes; i += kVecLanes) {
        hn::Store(hn::Zero(d), d, row + i);
      }
    }
  }
}

void MaxPoolGradient(const Pooling& task, const float* in, const float* out, const float* out_gradient,
                     float* in_gradient) {
  const Tag d;
  ClearPicture(task, in_gradient);  // rows and columns beside the last whole window get nothing
  for_each_window(task, [&](std::ptrdiff_t from, std::ptrdiff_t to) HWY_ATTR {
    const Vec largest = hn::Load(d, out + to);
    Vec left = hn::Load(d, out_gradient + to);
    for (int r = 0; r < task.rows; ++r) {
      for (int c = 0; c < task.columns; ++c) {
        const std::ptrdiff_t at = from + r * task.in_strides.row + c * task.in_strides.column;
        const auto first = hn::Eq(hn::Load(d, in + at), largest);
        hn::Store(hn::IfThenElseZero(first, left), d, in_gradient + at);
        left = hn::IfThenZeroElse(first, left);
      }
    }
  });
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(MaxPool);
HWY_EXPORT(MaxPoolGradient);

void max_pool(const Pooling& task, const float* in, float* out) { HWY_DYNAMIC_DISPATCH(MaxPool)(task, in, out); }

void max_pool_gradient(const Pooling& task, const float* in, const float* out, const float* out_gradient,
                       float* in_gradient) {
  HWY_DYNAMIC_DISPATCH(MaxPoolGradient)(task, in, out, out_gradient, in_gradient);
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
