#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "feroma/core/batch.h"

namespace feroma::detail {

/// How a turned picture reads the stored one: its pixel (r, c) is stored at start + r * row + c * column.
struct Walk {
  std::ptrdiff_t start = 0;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t column = 0;

  [[nodiscard]] std::ptrdiff_t at(std::size_t r) const { return start + static_cast<std::ptrdiff_t>(r) * row; }
  friend bool operator==(const Walk&, const Walk&) = default;
};

/// The samples of a group that are turned alike: all bits set in their lanes.
struct TurnedLanes {
  Walk walk;
  std::array<std::uint8_t, kBatchLanes> lanes{};
};

/// What happens to one channel of the samples of a group: x becomes x * factor + offset.
struct LaneScale {
  std::array<float, kBatchLanes> factor{};
  std::array<float, kBatchLanes> offset{};
};

/// Bytes of one stored channel, the samples of a group side by side, and how to read them.
struct BytePlane {
  const std::uint8_t* bytes = nullptr;  ///< [stored position][lane]
  std::span<const TurnedLanes> turns;   ///< lanes in none of them are zero
  std::size_t height = 0;
  std::size_t width = 0;
};

/// Where the channels that share one stored channel go, in floats.
struct PlaneTarget {
  float* first = nullptr;
  std::size_t row = 0;      ///< from a row to the next
  std::size_t channel = 0;  ///< from a channel to the next
};

/// out[i * 16 + lane] = pictures[lane][i] for i below `count`.
void interleave_bytes(const std::array<const std::uint8_t*, kBatchLanes>& pictures, std::size_t count,
                      std::uint8_t* out);

/// Turns the plane, makes numbers of its bytes (a byte over 255) and writes one channel per scale.
void write_plane(const BytePlane& plane, std::span<const LaneScale> channels, const PlaneTarget& out);

}  // namespace feroma::detail
