#include <algorithm>

#include "engine/native/kernels.h"
#include "engine/native/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/correlate_kernel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kGroupLanes>;
using Vec = hn::Vec<Tag>;
constexpr int kVecLanes = FEROMA_VEC_LANES(float);
constexpr int kVecs = kGroupLanes / kVecLanes;
// The accumulators, one pixel and one weight must fit into 32 registers (AVX-512, NEON) or 16 (AVX2, SSE4).
constexpr bool kSlowTarget = HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR;
constexpr int kOutputs = kSlowTarget ? 2 : kTileOutputs;
/// Rows of so many taps are compiled without a loop: a 3 x 3 or 5 x 5 kernel, and what of it a tile at the edge of the
/// picture takes. Where nothing is gained, none.
constexpr int kLeastFixedTaps = 3;
constexpr int kMostFixedTaps = kSlowTarget ? 0 : 5;
constexpr int kPixels = kVecs == 1 ? kTilePixels : 1;

template <int kO, int kP>
struct Tile {
  Vec sums[std::size_t{kO}][std::size_t{kP}][std::size_t{kVecs}];
};

/// Where a tile stands.
struct Place {
  int channel;
  int row;
  int column;
};

/// Calls `work` with every sum of a tile and where it lies in the output.
template <int kO, int kP, class Work>
HWY_INLINE void for_each_sum(Tile<kO, kP>& tile, Strides strides, Work work) {
  HWY_UNROLL(6)
  for (int o = 0; o < kO; ++o) {
    HWY_UNROLL(4)
    for (int p = 0; p < kP; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVecs; ++v) {
        work(tile.sums[o][p][v], o, o * strides.channel + p * strides.column + v * kVecLanes);
      }
    }
  }
}

template <int kO, int kP>
HWY_INLINE Tile<kO, kP> start_tile(const Finish& finish, Strides strides, int channel, const float* out) {
  const Tag d;
  Tile<kO, kP> tile;
  if (finish.accumulate) {
    for_each_sum(tile, strides, [&](Vec& sum, int, std::ptrdiff_t at) HWY_ATTR { sum = hn::LoadU(d, out + at); });
  } else if (finish.bias != nullptr) {
    const float* const bias = finish.bias + channel;
    for_each_sum(tile, strides, [&](Vec& sum, int o, std::ptrdiff_t) HWY_ATTR { sum = hn::Set(d, bias[o]); });
  } else {
    for_each_sum(tile, strides, [&](Vec& sum, int, std::ptrdiff_t) HWY_ATTR { sum = hn::Zero(d); });
  }
  return tile;
}

template <int kO, int kP>
HWY_INLINE void add_tap(Tile<kO, kP>& tile, const float* HWY_RESTRICT pixels, std::ptrdiff_t pixel_stride,
                        const float* HWY_RESTRICT weights, std::ptrdiff_t weight_stride) {
  const Tag d;
  Vec x[std::size_t{kP}][std::size_t{kVecs}];
  HWY_UNROLL(4)
  for (int p = 0; p < kP; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVecs; ++v) {
      x[p][v] = hn::Load(d, pixels + p * pixel_stride + v * kVecLanes);
    }
  }
  HWY_UNROLL(6)
  for (int o = 0; o < kO; ++o) {
    const Vec w = hn::Set(d, weights[o * weight_stride]);
    HWY_UNROLL(4)
    for (int p = 0; p < kP; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVecs; ++v) {
        tile.sums[o][p][v] = hn::MulAdd(w, x[p][v], tile.sums[o][p][v]);
      }
    }
  }
}

/// kC neighbouring taps of one kernel row over one picture row: each pixel is loaded once.
template <int kC, int kO, int kP>
HWY_INLINE void add_row(Tile<kO, kP>& tile, const float* HWY_RESTRICT pixels, const float* HWY_RESTRICT weights,
                        std::ptrdiff_t weight_stride, std::ptrdiff_t tap_stride) {
  const Tag d;
  Vec x[std::size_t{kP + kC - 1}][std::size_t{kVecs}];
  int seen = 0;
  HWY_UNROLL(5)
  for (int c = 0; c < kC; ++c) {
    // A pixel is loaded when its first tap comes: all of them at once would not fit into the registers.
    HWY_UNROLL(4)
    for (; seen < kP + c; ++seen) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVecs; ++v) {
        x[seen][v] = hn::Load(d, pixels + seen * kGroupLanes + v * kVecLanes);
      }
    }
    HWY_UNROLL(6)
    for (int o = 0; o < kO; ++o) {
      const Vec w = hn::Set(d, weights[o * weight_stride]);
      HWY_UNROLL(4)
      for (int p = 0; p < kP; ++p) {
        HWY_UNROLL(4)
        for (int v = 0; v < kVecs; ++v) {
          tile.sums[o][p][v] = hn::MulAdd(w, x[p + c][v], tile.sums[o][p][v]);
        }
      }
    }
    weights += tap_stride;
  }
}

template <int kO, int kP>
HWY_INLINE void store_tile(const Finish& finish, Strides strides, Tile<kO, kP>& tile, float* HWY_RESTRICT out,
                           const float* HWY_RESTRICT mask) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  // Both comparisons keep a value that is not a number, so that a diverged model is seen.
  if (finish.rectify) {
    for_each_sum(tile, strides,
                 [&](Vec& sum, int, std::ptrdiff_t) HWY_ATTR { sum = hn::IfThenZeroElse(hn::Lt(sum, zero), sum); });
  }
  if (mask != nullptr) {
    for_each_sum(tile, strides, [&](Vec& sum, int, std::ptrdiff_t at) HWY_ATTR {
      sum = hn::IfThenZeroElse(hn::Le(hn::Load(d, mask + at), zero), sum);
    });
  }
  for_each_sum(tile, strides, [&](Vec& sum, int, std::ptrdiff_t at) HWY_ATTR { hn::StoreU(sum, d, out + at); });
}

/// The columns of the kernel that a tile takes: a tap that lies inside for one of its pixels is taken for all, and the
/// others read the zero border.
struct TakenColumns {
  TakenColumns(const Correlation& task, int x, int pixels)
      : begin(std::max(0, task.padding_columns - x - pixels + 1)),
        end(std::min(task.kernel_width, task.in_extent.width + task.padding_columns - x)) {}

  int begin;
  int end;
};

/// kC is how many columns of the kernel the tile takes where that many are compiled in, else 0.
template <int kO, int kP, int kC>
HWY_NOINLINE void run_tile(const Correlation& task, Place at) {
  const std::ptrdiff_t offset =
      at.channel * task.out_strides.channel + at.row * task.out_strides.row + at.column * task.out_strides.column;
  Tile<kO, kP> tile = start_tile<kO, kP>(task.finish, task.out_strides, at.channel, task.out + offset);
  const int first_row = at.row - task.padding_rows;
  const int first_column = at.column - task.padding_columns;
  const int row_begin = std::max(0, -first_row);
  const int row_end = std::min(task.kernel_height, task.in_extent.height - first_row);
  const TakenColumns columns(task, at.column, kP);
  const std::ptrdiff_t pixel_stride = task.in_strides.column;
  const std::ptrdiff_t weight_stride = task.weight_out;
  const float* const weights = task.weights + at.channel * weight_stride;
  for (int i = 0; i < task.in_extent.channels; ++i) {
    for (int r = row_begin; r < row_end; ++r) {
      const float* x = task.in + i * task.in_strides.channel + (first_row + r) * task.in_strides.row +
                       first_column * pixel_stride + columns.begin * task.in_tap;
      const float* w = weights + i * task.weight_strides.channel + r * task.weight_strides.row +
                       columns.begin * task.weight_strides.column;
      if constexpr (kC > 0) {
        add_row<kC>(tile, x, w, weight_stride, task.weight_strides.column);
      } else {
        for (int c = columns.begin; c < columns.end; ++c) {
          add_tap(tile, x, pixel_stride, w, weight_stride);
          x += task.in_tap;
          w += task.weight_strides.column;
        }
      }
    }
  }
  store_tile(task.finish, task.out_strides, tile, task.out + offset,
             task.finish.mask == nullptr ? nullptr : task.finish.mask + offset);
}

using RunTile = void (*)(const Correlation&, Place);

template <int kO, int kC>
const RunTile* tiles_of_outputs() {
  if constexpr (kPixels == 1) {
    static constexpr RunTile kTiles[] = {run_tile<kO, 1, kC>};
    return kTiles;
  } else {
    static constexpr RunTile kTiles[] = {run_tile<kO, 1, kC>, run_tile<kO, 2, kC>, run_tile<kO, 3, kC>,
                                         run_tile<kO, 4, kC>};
    return kTiles;
  }
}

/// Tiles of `outputs` outputs and 1 to kPixels pixels; only those that can occur are compiled.
template <int kC, int kO = kOutputs>
const RunTile* find_tiles(int outputs) {
  if constexpr (kO > 1) {
    if (outputs < kO) {
      return find_tiles<kC, kO - 1>(outputs);
    }
  }
  return tiles_of_outputs<kO, kC>();
}

/**
 * How a row is cut into tiles of nearly equal size: 14 in steps of at most 4 is 3 + 4 + 4 + 3. The smaller ones lie at
 * the ends, where a kernel may reach beside the picture: a tap is taken for all pixels of a tile or for none.
 */
struct RowCut {
  explicit RowCut(int width)
      : tiles((width + kPixels - 1) / kPixels),
        pixels(width / tiles),
        large_begin((tiles - width % tiles) / 2),
        large_end(large_begin + width % tiles) {}

  [[nodiscard]] int pixels_of(int tile) const { return pixels + (tile >= large_begin && tile < large_end ? 1 : 0); }

  int tiles;
  int pixels;
  int large_begin;  ///< tiles with one pixel more
  int large_end;
};

/// Tiles by the number of kernel columns they take.
struct TilesByTaps {
  const RunTile* any;
  const RunTile* fixed[std::size_t{kMostFixedTaps + 1}];

  [[nodiscard]] const RunTile* taking(int taps) const {
    return taps < kLeastFixedTaps || taps > kMostFixedTaps ? any : fixed[taps];
  }
};

template <int kC = kMostFixedTaps>
void find_fixed(int outputs, TilesByTaps& tiles) {
  if constexpr (kC >= kLeastFixedTaps) {
    tiles.fixed[kC] = find_tiles<kC>(outputs);
    find_fixed<kC - 1>(outputs, tiles);
  }
}

void Correlate(const Correlation& task) {
  const bool neighbours = task.in_tap == kGroupLanes && task.in_strides.column == kGroupLanes;
  const RowCut cut(task.out_extent.width);
  int outputs = 0;
  for (int o = 0; o < task.out_extent.channels; o += outputs) {
    outputs = nearly_equal_part(task.out_extent.channels - o, kOutputs);
    TilesByTaps tiles{find_tiles<0>(outputs), {}};
    find_fixed(outputs, tiles);
    for (int y = 0; y < task.out_extent.height; ++y) {
      for (int tile = 0, x = 0; tile < cut.tiles; ++tile) {
        const int pixels = cut.pixels_of(tile);
        const TakenColumns columns(task, x, pixels);
        const RunTile* const run = neighbours ? tiles.taking(columns.end - columns.begin) : tiles.any;
        run[pixels - 1](task, {o, y, x});
        x += pixels;
      }
    }
  }
}

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(Correlate);

void correlate(const Correlation& task) { HWY_DYNAMIC_DISPATCH(Correlate)(task); }

}  // namespace feroma::detail
#endif  // HWY_ONCE
