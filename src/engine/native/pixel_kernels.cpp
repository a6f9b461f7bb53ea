#include <algorithm>
#include <cstdint>

#include "engine/native/kernels.h"
#include "engine/native/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/pixel_kernels.cpp"
// foreach_target.h must come first.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kGroupLanes>;
using Vec = hn::Vec<Tag>;
constexpr int kVecLanes = FEROMA_VEC_LANES(float);

void AddPixels(const float* in, Extent extent, Strides strides, float* sums) {
  const Tag d;
  for (int channel = 0; channel < extent.channels; ++channel) {
    for (int lane = 0; lane < kGroupLanes; lane += kVecLanes) {
      float* const total = sums + channel * kGroupLanes + lane;
      Vec sum = hn::Load(d, total);
      for (int y = 0; y < extent.height; ++y) {
        const float* row = in + channel * strides.channel + y * strides.row + lane;
        for (int x = 0; x < extent.width; ++x) {
          sum = hn::Add(sum, hn::Load(d, row + x * strides.column));
        }
      }
      hn::Store(sum, d, total);
    }
  }
}

constexpr int kVecs = kGroupLanes / kVecLanes;
/// Bits of one vector's lanes, and of one pixel's, in whole bytes.
constexpr int kVecBytes = kVecLanes < 8 ? 1 : kVecLanes / 8;
constexpr std::ptrdiff_t kPixelBytes = std::ptrdiff_t{kVecs} * kVecBytes;

/// The bits of a row of the part that a task works on; null where nobody asks.
std::uint8_t* bits_of_row(const Pooling& task, Blocked blocked, int channel, int row) {
  const std::ptrdiff_t rows = std::ptrdiff_t{blocked.channel + channel} * blocked.height + blocked.row + row;
  return blocked.bits == nullptr ? nullptr : blocked.bits + rows * task.in_extent.width * kPixelBytes;
}

/// One row of windows. kSize is their extent where it is known when compiling, else 0.
template <int kSize, bool kBlocked>
void pool_row(const Pooling& task, const float* HWY_RESTRICT in, bool rectify, float* HWY_RESTRICT out,
              std::uint8_t* HWY_RESTRICT blocked) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  const int rows = kSize > 0 ? kSize : task.rows;
  const int columns = kSize > 0 ? kSize : task.columns;
  const std::ptrdiff_t row_stride = task.in_strides.row;
  const std::ptrdiff_t row_bytes = task.in_extent.width * kPixelBytes;
  const Vec share = hn::Set(d, 1.0F / static_cast<float>(rows * columns));
  const int windows = task.out_extent.width;
  for (int window = 0; window < windows; ++window) {
    for (int v = 0; v < kVecs; ++v) {
      Vec sum = zero;
      HWY_UNROLL(2)
      for (int r = 0; r < rows; ++r) {
        HWY_UNROLL(2)
        for (int c = 0; c < columns; ++c) {
          const Vec x = hn::Load(d, in + r * row_stride + c * kGroupLanes + v * kVecLanes);
          sum = r + c == 0 ? x : hn::Add(sum, x);
          if constexpr (kBlocked) {
            hn::StoreMaskBits(d, hn::Le(x, zero), blocked + r * row_bytes + c * kPixelBytes + v * kVecBytes);
          }
        }
      }
      const Vec mean = hn::Mul(sum, share);
      hn::Store(rectify ? hn::IfThenZeroElse(hn::Lt(mean, zero), mean) : mean, d, out + v * kVecLanes);
    }
    in += columns * kGroupLanes;
    out += kGroupLanes;
    if constexpr (kBlocked) {
      blocked += columns * kPixelBytes;
    }
  }
}

void Pool(const Pooling& task, const float* in, bool rectify, float* out, Blocked blocked) {
  const bool small = task.rows == 2 && task.columns == 2;
  const auto run = blocked.bits == nullptr ? (small ? pool_row<2, false> : pool_row<0, false>)
                                           : (small ? pool_row<2, true> : pool_row<0, true>);
  for (int channel = 0; channel < task.out_extent.channels; ++channel) {
    for (int y = 0; y < task.out_extent.height; ++y) {
      run(task, in + channel * task.in_strides.channel + y * task.rows * task.in_strides.row, rectify,
          out + channel * task.out_strides.channel + y * task.out_strides.row,
          bits_of_row(task, blocked, channel, y * task.rows));
    }
  }
}

/// One row of the picture; `out_gradient` is null below the last whole window.
template <int kSize, bool kBlocked>
void spread_row(const Pooling& task, const float* HWY_RESTRICT out_gradient, const std::uint8_t* HWY_RESTRICT blocked,
                float* HWY_RESTRICT row) {
  const Tag d;
  const int size = kSize > 0 ? kSize : task.columns;
  const Vec share = hn::Set(d, 1.0F / static_cast<float>(kSize > 0 ? kSize * kSize : task.rows * task.columns));
  const int windows = out_gradient == nullptr ? 0 : task.out_extent.width;
  for (int window = 0; window < windows; ++window) {
    for (int v = 0; v < kVecs; ++v) {
      const Vec part = hn::Mul(hn::Load(d, out_gradient + window * kGroupLanes + v * kVecLanes), share);
      HWY_UNROLL(2)
      for (int c = 0; c < size; ++c) {
        Vec kept = part;
        if constexpr (kBlocked) {
          kept = hn::IfThenZeroElse(hn::LoadMaskBits(d, blocked + c * kPixelBytes + v * kVecBytes), part);
        }
        hn::Store(kept, d, row + c * kGroupLanes + v * kVecLanes);
      }
    }
    row += size * kGroupLanes;
    if constexpr (kBlocked) {
      blocked += size * kPixelBytes;
    }
  }
  for (int x = windows * size; x < task.in_extent.width; ++x, row += kGroupLanes) {
    for (int v = 0; v < kVecs; ++v) {
      hn::Store(hn::Zero(d), d, row + v * kVecLanes);
    }
  }
}

void PoolGradient(const Pooling& task, const float* out_gradient, Blocked blocked, float* in_gradient) {
  const bool small = task.rows == 2 && task.columns == 2;
  const auto run = blocked.bits == nullptr ? (small ? spread_row<2, false> : spread_row<0, false>)
                                           : (small ? spread_row<2, true> : spread_row<0, true>);
  for (int channel = 0; channel < task.in_extent.channels; ++channel) {
    for (int y = 0; y < task.in_extent.height; ++y) {
      const int window = y / task.rows;
      const float* from = window < task.out_extent.height
                              ? out_gradient + channel * task.out_strides.channel + window * task.out_strides.row
                              : nullptr;
      run(task, from, bits_of_row(task, blocked, channel, y),
          in_gradient + channel * task.in_strides.channel + y * task.in_strides.row);
    }
  }
}

constexpr int kQuad = 4;

/// Four channels of four lanes become four lanes of four channels.
HWY_INLINE void transpose_quad(const float* HWY_RESTRICT in, std::ptrdiff_t in_stride, float* HWY_RESTRICT out,
                               std::ptrdiff_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int a = 0; a < kQuad; ++a) {
    for (int b = 0; b < kQuad; ++b) {
      out[b * out_stride + a] = in[a * in_stride + b];
    }
  }
#else
  const hn::FixedTag<float, kQuad> d;
  const auto a = hn::Load(d, in);
  const auto b = hn::Load(d, in + in_stride);
  const auto c = hn::Load(d, in + 2 * in_stride);
  const auto e = hn::Load(d, in + 3 * in_stride);
  const auto ac_low = hn::InterleaveLower(d, a, c);
  const auto ac_high = hn::InterleaveUpper(d, a, c);
  const auto be_low = hn::InterleaveLower(d, b, e);
  const auto be_high = hn::InterleaveUpper(d, b, e);
  hn::Store(hn::InterleaveLower(d, ac_low, be_low), d, out);
  hn::Store(hn::InterleaveUpper(d, ac_low, be_low), d, out + out_stride);
  hn::Store(hn::InterleaveLower(d, ac_high, be_high), d, out + 2 * out_stride);
  hn::Store(hn::InterleaveUpper(d, ac_high, be_high), d, out + 3 * out_stride);
#endif
}

/// One pixel of all channels.
HWY_INLINE void transpose_pixel(const Transposition& task, const float* HWY_RESTRICT in, std::ptrdiff_t padded,
                                float* HWY_RESTRICT out) {
  const int whole = task.extent.channels / kQuad * kQuad;
  for (int c = 0; c < whole; c += kQuad) {
    for (int lane = 0; lane < kGroupLanes; lane += kQuad) {
      transpose_quad(in + c * task.strides.channel + lane, task.strides.channel, out + lane * padded + c, padded);
    }
  }
  for (int c = whole; c < task.extent.channels; ++c) {
    for (int lane = 0; lane < kGroupLanes; ++lane) {
      out[lane * padded + c] = in[c * task.strides.channel + lane];
    }
  }
}

/// One sum by halves.
HWY_INLINE float reduce_one(const float* sums) {
  float lanes[kGroupLanes];
  std::copy(sums, sums + kGroupLanes, lanes);
  for (int half = kGroupLanes / 2; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      lanes[lane] += lanes[lane + half];
    }
  }
  return lanes[0];
}

/// Four sums at a time: 16 lanes become 4 as vectors, and a transposed quad brings the last halves side by side.
void ReduceLanes(const float* sums, float* out, std::size_t count) {
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, kQuad> d;
  alignas(16) float quads[kQuad * kQuad];
  alignas(16) float turned[kQuad * kQuad];
  for (; i + kQuad <= count; i += kQuad) {
    for (int k = 0; k < kQuad; ++k) {
      const float* const from = sums + (i + static_cast<std::size_t>(k)) * kGroupLanes;
      const auto low = hn::Add(hn::Load(d, from), hn::Load(d, from + 2 * kQuad));
      const auto high = hn::Add(hn::Load(d, from + kQuad), hn::Load(d, from + 3 * kQuad));
      hn::Store(hn::Add(low, high), d, quads + k * kQuad);
    }
    transpose_quad(quads, kQuad, turned, kQuad);
    const auto even = hn::Add(hn::Load(d, turned), hn::Load(d, turned + 2 * kQuad));
    const auto odd = hn::Add(hn::Load(d, turned + kQuad), hn::Load(d, turned + 3 * kQuad));
    hn::StoreU(hn::Add(even, odd), d, out + i);
  }
#endif
  for (; i < count; ++i) {
    out[i] = reduce_one(sums + i * kGroupLanes);
  }
}

void Transpose(const Transposition& task, const float* in, float* out) {
  const std::ptrdiff_t padded = (task.extent.channels + kGroupLanes - 1) / kGroupLanes * kGroupLanes;
  const std::ptrdiff_t pixel = padded * kGroupLanes;
  const std::ptrdiff_t row = (task.extent.width + 2 * task.border_columns) * pixel;
  out += task.border_rows * row + task.border_columns * pixel;
  for (int y = 0; y < task.extent.height; ++y) {
    for (int x = 0; x < task.extent.width; ++x) {
      transpose_pixel(task, in + y * task.strides.row + x * task.strides.column, padded, out + y * row + x * pixel);
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(AddPixels);
HWY_EXPORT(Pool);
HWY_EXPORT(PoolGradient);
HWY_EXPORT(Transpose);
HWY_EXPORT(ReduceLanes);

void add_pixels(const float* in, Extent extent, Strides strides, float* sums) {
  HWY_DYNAMIC_DISPATCH(AddPixels)(in, extent, strides, sums);
}

void pool(const Pooling& task, const float* in, bool rectify, float* out, Blocked blocked) {
  HWY_DYNAMIC_DISPATCH(Pool)(task, in, rectify, out, blocked);
}

void pool_gradient(const Pooling& task, const float* out_gradient, Blocked blocked, float* in_gradient) {
  HWY_DYNAMIC_DISPATCH(PoolGradient)(task, out_gradient, blocked, in_gradient);
}

void transpose(const Transposition& task, const float* in, float* out) {
  HWY_DYNAMIC_DISPATCH(Transpose)(task, in, out);
}

void reduce_lanes(const float* sums, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(ReduceLanes)(sums, out.data(), out.size());
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
