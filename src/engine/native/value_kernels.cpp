#include "engine/native/value_kernels.h"

#include "engine/native/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/value_kernels.cpp"
// foreach_target.h must come first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kGroupLanes>;
using Vec = hn::Vec<Tag>;
constexpr int kVecLanes = FEROMA_VEC_LANES(float);
constexpr int kVecs = kGroupLanes / kVecLanes;

/// Calls use(channel, y) for every row.
template <class Use>
HWY_INLINE void for_each_row(Extent extent, Use use) {
  for (int channel = 0; channel < extent.channels; ++channel) {
    for (int y = 0; y < extent.height; ++y) {
      use(channel, y);
    }
  }
}

HWY_INLINE float* row_of(Picture picture, int channel, int y) {
  return picture.first + channel * picture.strides.channel + y * picture.strides.row;
}

void ScaleChannels(Extent extent, Picture in, const float* gains, const float* offsets, bool rectify, Picture out) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const Vec gain = hn::Set(d, gains[channel]);
    const Vec offset = hn::Set(d, offsets[channel]);
    const float* const from = row_of(in, channel, y);
    float* const to = row_of(out, channel, y);
    for (int i = 0; i < extent.width * kGroupLanes; i += kVecLanes) {
      const Vec value = hn::MulAdd(gain, hn::Load(d, from + i), offset);
      hn::Store(rectify ? hn::IfThenZeroElse(hn::Lt(value, zero), value) : value, d, to + i);
    }
  });
}

void AddProducts(Extent extent, Picture a, Picture b, float* sums) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const float* const left = row_of(a, channel, y);
    const float* const right = row_of(b, channel, y);
    for (int v = 0; v < kVecs; ++v) {
      float* const total = sums + channel * kGroupLanes + v * kVecLanes;
      Vec sum = hn::Load(d, total);
      for (int i = v * kVecLanes; i < extent.width * kGroupLanes; i += kGroupLanes) {
        sum = hn::MulAdd(hn::Load(d, left + i), hn::Load(d, right + i), sum);
      }
      hn::Store(sum, d, total);
    }
  });
}

void AddSquares(Extent extent, Picture in, const float* means, float* sums) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const Vec mean = hn::Set(d, means[channel]);
    const float* const from = row_of(in, channel, y);
    for (int v = 0; v < kVecs; ++v) {
      float* const total = sums + channel * kGroupLanes + v * kVecLanes;
      Vec sum = hn::Load(d, total);
      for (int i = v * kVecLanes; i < extent.width * kGroupLanes; i += kGroupLanes) {
        const Vec off = hn::Sub(hn::Load(d, from + i), mean);
        sum = hn::MulAdd(off, off, sum);
      }
      hn::Store(sum, d, total);
    }
  });
}

void BlendPictures(Extent extent, const Blend& task, Picture gradient, Picture in, Picture out) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const Vec of_gradient = hn::Set(d, task.gradient_factors[channel]);
    const Vec of_in = hn::Set(d, task.in_factors[channel]);
    const Vec constant = hn::Set(d, task.constants[channel]);
    const float* const g = row_of(gradient, channel, y);
    const float* const x = row_of(in, channel, y);
    float* const to = row_of(out, channel, y);
    for (int v = 0; v < kVecs; ++v) {
      const auto used = hn::Ne(hn::LoadU(d, task.used_lanes + v * kVecLanes), hn::Zero(d));
      for (int i = v * kVecLanes; i < extent.width * kGroupLanes; i += kGroupLanes) {
        const Vec rest = hn::MulAdd(of_in, hn::Load(d, x + i), constant);
        hn::Store(hn::IfThenElseZero(used, hn::MulAdd(of_gradient, hn::Load(d, g + i), rest)), d, to + i);
      }
    }
  });
}

void AddPictures(Extent extent, Picture a, Picture b, Picture out) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const float* const left = row_of(a, channel, y);
    const float* const right = row_of(b, channel, y);
    float* const to = row_of(out, channel, y);
    for (int i = 0; i < extent.width * kGroupLanes; i += kVecLanes) {
      hn::Store(hn::Add(hn::Load(d, left + i), hn::Load(d, right + i)), d, to + i);
    }
  });
}

void BlockGradient(Extent extent, Picture activation, Picture gradient) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const float* const value = row_of(activation, channel, y);
    float* const g = row_of(gradient, channel, y);
    for (int i = 0; i < extent.width * kGroupLanes; i += kVecLanes) {
      hn::Store(hn::IfThenZeroElse(hn::Le(hn::Load(d, value + i), hn::Zero(d)), hn::Load(d, g + i)), d, g + i);
    }
  });
}

void EluOfPicture(Extent extent, Picture in, Picture out) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const float* const from = row_of(in, channel, y);
    float* const to = row_of(out, channel, y);
    for (int i = 0; i < extent.width * kGroupLanes; i += kVecLanes) {
      const Vec x = hn::Load(d, from + i);
      hn::Store(hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Expm1(d, x), x), d, to + i);
    }
  });
}

void EluGradient(Extent extent, Picture gradient, Picture out, Picture in_gradient) {
  const Tag d;
  for_each_row(extent, [&](int channel, int y) HWY_ATTR {
    const float* const g = row_of(gradient, channel, y);
    const float* const value = row_of(out, channel, y);
    float* const to = row_of(in_gradient, channel, y);
    for (int i = 0; i < extent.width * kGroupLanes; i += kVecLanes) {
      const Vec e = hn::Load(d, value + i);
      const Vec slope = hn::IfThenElse(hn::Lt(e, hn::Zero(d)), hn::Add(e, hn::Set(d, 1.0F)), hn::Set(d, 1.0F));
      hn::Store(hn::Mul(slope, hn::Load(d, g + i)), d, to + i);
    }
  });
}

void LayerNorm(const LayerNormTask& task, const float* offsets, float* out) {
  const Tag d;
  const Vec share = hn::Set(d, 1.0F / static_cast<float>(task.features));
  for (int lane = 0; lane < kGroupLanes; lane += kVecLanes) {
    const float* const x = task.in + lane;
    Vec sum = hn::Zero(d);
    for (int f = 0; f < task.features; ++f) {
      sum = hn::Add(sum, hn::Load(d, x + f * kGroupLanes));
    }
    const Vec mean = hn::Mul(sum, share);
    Vec squares = hn::Zero(d);
    for (int f = 0; f < task.features; ++f) {
      const Vec off = hn::Sub(hn::Load(d, x + f * kGroupLanes), mean);
      squares = hn::MulAdd(off, off, squares);
    }
    const Vec variance = hn::MulAdd(squares, share, hn::Set(d, kNormEpsilon));
    const Vec inverse = hn::Div(hn::Set(d, 1.0F), hn::Sqrt(variance));
    hn::Store(mean, d, task.statistics + lane);
    hn::Store(inverse, d, task.statistics + kGroupLanes + lane);
    for (int f = 0; f < task.features; ++f) {
      const Vec normal = hn::Mul(hn::Sub(hn::Load(d, x + f * kGroupLanes), mean), inverse);
      const Vec value = hn::MulAdd(hn::Set(d, task.gains[f]), normal, hn::Set(d, offsets[f]));
      hn::Store(value, d, out + f * kGroupLanes + lane);
    }
  }
}

void LayerNormGradient(const LayerNormTask& task, const float* out_gradient, float* gain_sums, float* offset_sums,
                       float* in_gradient) {
  const Tag d;
  const Vec share = hn::Set(d, 1.0F / static_cast<float>(task.features));
  for (int lane = 0; lane < kGroupLanes; lane += kVecLanes) {
    const Vec mean = hn::Load(d, task.statistics + lane);
    const Vec inverse = hn::Load(d, task.statistics + kGroupLanes + lane);
    Vec sum = hn::Zero(d);
    Vec products = hn::Zero(d);
    for (int f = 0; f < task.features; ++f) {
      const std::ptrdiff_t at = f * kGroupLanes + lane;
      const Vec g = hn::Load(d, out_gradient + at);
      const Vec normal = hn::Mul(hn::Sub(hn::Load(d, task.in + at), mean), inverse);
      hn::Store(hn::MulAdd(g, normal, hn::Load(d, gain_sums + at)), d, gain_sums + at);
      hn::Store(hn::Add(g, hn::Load(d, offset_sums + at)), d, offset_sums + at);
      const Vec scaled = hn::Mul(g, hn::Set(d, task.gains[f]));
      sum = hn::Add(sum, scaled);
      products = hn::MulAdd(scaled, normal, products);
    }
    const Vec mean_gradient = hn::Mul(sum, share);
    const Vec mean_product = hn::Mul(products, share);
    for (int f = 0; f < task.features; ++f) {
      const std::ptrdiff_t at = f * kGroupLanes + lane;
      const Vec normal = hn::Mul(hn::Sub(hn::Load(d, task.in + at), mean), inverse);
      const Vec scaled = hn::Mul(hn::Load(d, out_gradient + at), hn::Set(d, task.gains[f]));
      const Vec rest = hn::NegMulAdd(normal, mean_product, hn::Sub(scaled, mean_gradient));
      hn::Store(hn::Mul(inverse, rest), d, in_gradient + at);
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(ScaleChannels);
HWY_EXPORT(AddProducts);
HWY_EXPORT(AddSquares);
HWY_EXPORT(BlendPictures);
HWY_EXPORT(AddPictures);
HWY_EXPORT(BlockGradient);
HWY_EXPORT(EluOfPicture);
HWY_EXPORT(EluGradient);
HWY_EXPORT(LayerNorm);
HWY_EXPORT(LayerNormGradient);

void scale_channels(Extent extent, Picture in, const float* gains, const float* offsets, bool rectify, Picture out) {
  HWY_DYNAMIC_DISPATCH(ScaleChannels)(extent, in, gains, offsets, rectify, out);
}
void add_products(Extent extent, Picture a, Picture b, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddProducts)(extent, a, b, sums);
}
void add_squares(Extent extent, Picture in, const float* means, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddSquares)(extent, in, means, sums);
}
void blend(Extent extent, const Blend& task, Picture gradient, Picture in, Picture out) {
  HWY_DYNAMIC_DISPATCH(BlendPictures)(extent, task, gradient, in, out);
}
void add_pictures(Extent extent, Picture a, Picture b, Picture out) {
  HWY_DYNAMIC_DISPATCH(AddPictures)(extent, a, b, out);
}
void block_gradient(Extent extent, Picture activation, Picture gradient) {
  HWY_DYNAMIC_DISPATCH(BlockGradient)(extent, activation, gradient);
}
void elu(Extent extent, Picture in, Picture out) { HWY_DYNAMIC_DISPATCH(EluOfPicture)(extent, in, out); }
void elu_gradient(Extent extent, Picture gradient, Picture out, Picture in_gradient) {
  HWY_DYNAMIC_DISPATCH(EluGradient)(extent, gradient, out, in_gradient);
}
void layer_norm(const LayerNormTask& task, const float* offsets, float* out) {
  HWY_DYNAMIC_DISPATCH(LayerNorm)(task, offsets, out);
}
void layer_norm_gradient(const LayerNormTask& task, const float* out_gradient, float* gain_sums, float* offset_sums,
                         float* in_gradient) {
  HWY_DYNAMIC_DISPATCH(LayerNormGradient)(task, out_gradient, gain_sums, offset_sums, in_gradient);
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
