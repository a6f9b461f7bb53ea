#include "data/lane_kernels.h"

#include "core/simd_targets.h"

// Highway compiles this file once per target and picks the best one at run time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/lane_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLanes = kBatchLanes;

void InterleaveSome(const std::array<const std::uint8_t*, kLanes>& pictures, std::size_t begin, std::size_t end,
                    std::uint8_t* HWY_RESTRICT out) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i * kLanes + lane] = pictures[lane][i];
    }
  }
}

#if HWY_TARGET == HWY_SCALAR

void InterleaveBytes(const std::array<const std::uint8_t*, kLanes>& pictures, std::size_t count,
                     std::uint8_t* HWY_RESTRICT out) {
  InterleaveSome(pictures, 0, count, out);
}

#else

void InterleaveBytes(const std::array<const std::uint8_t*, kLanes>& pictures, std::size_t count,
                     std::uint8_t* HWY_RESTRICT out) {
  const hn::FixedTag<std::uint8_t, kLanes> d;
  using V = hn::Vec<decltype(d)>;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    V rows[kLanes];
    HWY_UNROLL(16)
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      rows[lane] = hn::LoadU(d, pictures[lane] + i);
    }
    // Each step shuffles the first half of all values with the second, like cards; after four, rows are columns.
    HWY_UNROLL(4)
    for (int step = 0; step < 4; ++step) {
      V shuffled[kLanes];
      HWY_UNROLL(8)
      for (std::size_t r = 0; r < kLanes / 2; ++r) {
        shuffled[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + kLanes / 2]);
        shuffled[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + kLanes / 2]);
      }
      HWY_UNROLL(16)
      for (std::size_t r = 0; r < kLanes; ++r) {
        rows[r] = shuffled[r];
      }
    }
    HWY_UNROLL(16)
    for (std::size_t r = 0; r < kLanes; ++r) {
      hn::StoreU(rows[r], d, out + (i + r) * kLanes);
    }
  }
  InterleaveSome(pictures, i, count, out);
}

#endif

void WritePlane(const BytePlane& plane, std::span<const LaneScale> channels, const PlaneTarget& out) {
  const hn::CappedTag<float, kLanes> d;
  const hn::Rebind<std::int32_t, decltype(d)> whole;
  const hn::Rebind<std::uint8_t, decltype(d)> bytes;
  const auto white = hn::Set(d, 255.0F);
  for (std::size_t y = 0; y < plane.height; ++y) {
    for (std::size_t x = 0; x < plane.width; ++x) {
      float* const to = out.first + y * out.row + x * kLanes;
      for (std::size_t lane = 0; lane < kLanes; lane += hn::Lanes(d)) {
        auto pixels = hn::Zero(bytes);
        for (const TurnedLanes& turn : plane.turns) {
          const std::ptrdiff_t at = turn.walk.at(y) + static_cast<std::ptrdiff_t>(x) * turn.walk.column;
          const auto stored = hn::LoadU(bytes, plane.bytes + at * static_cast<std::ptrdiff_t>(kLanes) + lane);
          pixels = hn::Or(pixels, hn::And(stored, hn::LoadU(bytes, turn.lanes.data() + lane)));
        }
        const auto value = hn::Div(hn::ConvertTo(d, hn::PromoteTo(whole, pixels)), white);
        for (std::size_t c = 0; c < channels.size(); ++c) {
          const auto factor = hn::LoadU(d, channels[c].factor.data() + lane);
          const auto offset = hn::LoadU(d, channels[c].offset.data() + lane);
          // Rounded twice, so that machines with and without fused products agree.
          hn::StoreU(hn::Add(hn::Mul(value, factor), offset), d, to + c * out.channel + lane);
        }
      }
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(InterleaveBytes);
HWY_EXPORT(WritePlane);

void interleave_bytes(const std::array<const std::uint8_t*, kBatchLanes>& pictures, std::size_t count,
                      std::uint8_t* out) {
  HWY_DYNAMIC_DISPATCH(InterleaveBytes)(pictures, count, out);
}

void write_plane(const BytePlane& plane, std::span<const LaneScale> channels, const PlaneTarget& out) {
  HWY_DYNAMIC_DISPATCH(WritePlane)(plane, channels, out);
}

}  // namespace feroma::detail
#endif  // HWY_ONCE
