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
constexpr int kOutputs = kSlowTarget ? 2 : 6;
/// A kernel width whose rows are compiled without a loop: LeNet-5's. Where nothing is gained, none.
constexpr int kFixedColumns = kSlowTarget ? 0 : 5;
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

template <int kO, int kP>
HWY_INLINE Tile<kO, kP> start_tile(const Correlation& task, Place at, const float* out) {
  const Tag d;
  Tile<kO, kP> tile;
  HWY_UNROLL(6)
  for (int o = 0; o < kO; ++o) {
    HWY_UNROLL(4)
    for (int p = 0; p < kP; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVecs; ++v) {
        if (task.finish.accumulate) {
          tile.sums[o][p][v] =
              hn::LoadU(d, out + o * task.out_strides.channel + p * task.out_strides.column + v * kVecLanes);
        } else {
          tile.sums[o][p][v] = task.finish.bias == nullptr ? hn::Zero(d) : hn::Set(d, task.finish.bias[at.channel + o]);
        }
      }
    }
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
HWY_INLINE void store_tile(const Correlation& task, const Tile<kO, kP>& tile, float* HWY_RESTRICT out,
                           const float* HWY_RESTRICT mask) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  HWY_UNROLL(6)
  for (int o = 0; o < kO; ++o) {
    HWY_UNROLL(4)
    for (int p = 0; p < kP; ++p) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVecs; ++v) {
        const std::ptrdiff_t at = o * task.out_strides.channel + p * task.out_strides.column + v * kVecLanes;
        Vec sum = tile.sums[o][p][v];
        // Both comparisons keep a value that is not a number, so that a diverged model is seen.
        if (task.finish.rectify) {
          sum = hn::IfThenZeroElse(hn::Lt(sum, zero), sum);
        }
        if (mask != nullptr) {
          sum = hn::IfThenZeroElse(hn::Le(hn::Load(d, mask + at), zero), sum);
        }
        hn::Store(sum, d, out + at);
      }
    }
  }
}

/// kC is the kernel's width where every tap of the tile is taken and that width is compiled in, else 0.
template <int kO, int kP, int kC>
HWY_NOINLINE void run_tile(const Correlation& task, Place at) {
  const std::ptrdiff_t offset =
      at.channel * task.out_strides.channel + at.row * task.out_strides.row + at.column * task.out_strides.column;
  Tile<kO, kP> tile = start_tile<kO, kP>(task, at, task.out + offset);
  const int first_row = at.row - task.padding_rows;
  const int first_column = at.column - task.padding_columns;
  const int row_begin = std::max(0, -first_row);
  const int row_end = std::min(task.kernel_height, task.in_extent.height - first_row);
  // A tap that lies inside for one pixel of the tile is taken for all; the others read the zero border.
  const int column_begin = std::max(0, -(first_column + kP - 1));
  const int column_end = std::min(task.kernel_width, task.in_extent.width - first_column);
  const std::ptrdiff_t pixel_stride = task.in_strides.column;
  const std::ptrdiff_t weight_stride = task.weight_out;
  const float* const weights = task.weights + at.channel * weight_stride;
  for (int i = 0; i < task.in_extent.channels; ++i) {
    for (int r = row_begin; r < row_end; ++r) {
      const float* x = task.in + i * task.in_strides.channel + (first_row + r) * task.in_strides.row +
                       first_column * pixel_stride + column_begin * task.in_tap;
      const float* w = weights + i * task.weight_strides.channel + r * task.weight_strides.row +
                       column_begin * task.weight_strides.column;
      if constexpr (kC > 0) {
        add_row<kC>(tile, x, w, weight_stride, task.weight_strides.column);
      } else {
        for (int c = column_begin; c < column_end; ++c) {
          add_tap(tile, x, pixel_stride, w, weight_stride);
          x += task.in_tap;
          w += task.weight_strides.column;
        }
      }
    }
  }
  store_tile(task, tile, task.out + offset, task.finish.mask == nullptr ? nullptr : task.finish.mask + offset);
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

/// Whether every kernel column lies inside the picture for some pixel of the tile.
bool takes_all_columns(const Correlation& task, int x, int pixels) {
  const int first = x - task.padding_columns;
  return first + pixels - 1 >= 0 && first + task.kernel_width <= task.in_extent.width;
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

void Correlate(const Correlation& task) {
  const bool wide =
      task.kernel_width == kFixedColumns && task.in_tap == kGroupLanes && task.in_strides.column == kGroupLanes;
  const RowCut cut(task.out_extent.width);
  int outputs = 0;
  for (int o = 0; o < task.out_extent.channels; o += outputs) {
    outputs = nearly_equal_part(task.out_extent.channels - o, kOutputs);
    const RunTile* const any = find_tiles<0>(outputs);
    const RunTile* const whole = wide ? find_tiles<kFixedColumns>(outputs) : any;
    for (int y = 0; y < task.out_extent.height; ++y) {
      for (int tile = 0, x = 0; tile < cut.tiles; ++tile) {
        const int pixels = cut.pixels_of(tile);
        (takes_all_columns(task, x, pixels) ? whole : any)[pixels - 1](task, {o, y, x});
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
