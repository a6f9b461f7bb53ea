#include <algorithm>

#include "engine/native/kernels.h"
#include "engine/native/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernel_gradient.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace feroma::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::CappedTag<float, kGroupLanes>;
using Vec = hn::Vec<Tag>;
constexpr int kVecLanes = FEROMA_VEC_LANES(float);
// A tile keeps outputs x taps sums, its taps' pixels and one gradient in registers.
constexpr int kOutputs = HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SCALAR ? 2 : 4;
constexpr int kTaps = 5;

/// Neighbouring taps of one kernel row and some outputs, over some rows of the picture.
struct Piece {
  int output;
  int channel;
  int kernel_row;
  int tap;
  int row_begin;
  int row_end;
};

/// The sums of kO outputs and kT taps.
template <int kO, int kT>
struct Tile {
  Vec sums[std::size_t{kO}][std::size_t{kT}];
  Vec bias[std::size_t{kO}];
};

/// Where a tile's sums lie for some lanes.
struct TilePlace {
  float* sums;
  std::ptrdiff_t output_stride;
  float* bias;  ///< null: nobody asks
};

template <int kO, int kT>
HWY_INLINE Tile<kO, kT> load_tile(TilePlace at) {
  const Tag d;
  Tile<kO, kT> tile;
  HWY_UNROLL(4)
  for (int o = 0; o < kO; ++o) {
    HWY_UNROLL(5)
    for (int t = 0; t < kT; ++t) {
      tile.sums[o][t] = hn::Load(d, at.sums + o * at.output_stride + t * kGroupLanes);
    }
    tile.bias[o] = at.bias == nullptr ? hn::Zero(d) : hn::Load(d, at.bias + o * kGroupLanes);
  }
  return tile;
}

template <int kO, int kT>
HWY_INLINE void store_tile(const Tile<kO, kT>& tile, TilePlace at) {
  const Tag d;
  HWY_UNROLL(4)
  for (int o = 0; o < kO; ++o) {
    HWY_UNROLL(5)
    for (int t = 0; t < kT; ++t) {
      hn::Store(tile.sums[o][t], d, at.sums + o * at.output_stride + t * kGroupLanes);
    }
    if (at.bias != nullptr) {
      hn::Store(tile.bias[o], d, at.bias + o * kGroupLanes);
    }
  }
}

/// kBias: the gradients themselves are summed on the way.
template <int kO, int kT, bool kBias>
HWY_NOINLINE void run_piece(const KernelGradient& task, const Piece& at) {
  const Tag d;
  const std::ptrdiff_t taps_per_output =
      std::ptrdiff_t{1} * task.in_extent.channels * task.kernel_rows * task.kernel_columns * kGroupLanes;
  const int shift = at.kernel_row - task.padding_rows;
  const int row_begin = std::max(at.row_begin, -shift);
  const int row_end = std::min(at.row_end, task.in_extent.height - shift);
  const std::ptrdiff_t out_channel = task.out_strides.channel;
  const std::ptrdiff_t first_tap =
      std::ptrdiff_t{(at.channel * task.kernel_rows + at.kernel_row) * task.kernel_columns + at.tap} * kGroupLanes;
  for (int lane = 0; lane < kGroupLanes; lane += kVecLanes) {
    const TilePlace place{task.sums + at.output * taps_per_output + first_tap + lane, taps_per_output,
                          kBias ? task.bias_sums + at.output * kGroupLanes + lane : nullptr};
    Tile<kO, kT> tile = load_tile<kO, kT>(place);
    for (int y = row_begin; y < row_end; ++y) {
      const float* HWY_RESTRICT g = task.out_gradient + at.output * out_channel + y * task.out_strides.row + lane;
      const float* HWY_RESTRICT x = task.in + at.channel * task.in_strides.channel + (y + shift) * task.in_strides.row +
                                    (at.tap - task.padding_columns) * kGroupLanes + lane;
      for (int column = 0; column < task.out_extent.width; ++column, x += kGroupLanes, g += kGroupLanes) {
        Vec pixel[std::size_t{kT}];
        HWY_UNROLL(5)
        for (int t = 0; t < kT; ++t) {
          pixel[t] = hn::Load(d, x + t * kGroupLanes);
        }
        HWY_UNROLL(4)
        for (int o = 0; o < kO; ++o) {
          const Vec gradient = hn::Load(d, g + o * out_channel);
          HWY_UNROLL(5)
          for (int t = 0; t < kT; ++t) {
            tile.sums[o][t] = hn::MulAdd(gradient, pixel[t], tile.sums[o][t]);
          }
          tile.bias[o] = kBias ? hn::Add(tile.bias[o], gradient) : tile.bias[o];
        }
      }
    }
    store_tile(tile, place);
  }
}

using RunPiece = void (*)(const KernelGradient&, const Piece&);

template <int kO, bool kBias>
RunPiece piece_of_taps(int taps) {
  constexpr RunPiece kPieces[] = {run_piece<kO, 1, kBias>, run_piece<kO, 2, kBias>, run_piece<kO, 3, kBias>,
                                  run_piece<kO, 4, kBias>, run_piece<kO, 5, kBias>};
  return kPieces[taps - 1];
}

template <int kO = kOutputs>
RunPiece find_piece(int outputs, int taps, bool bias) {
  if constexpr (kO > 1) {
    if (outputs < kO) {
      return find_piece<kO - 1>(outputs, taps, bias);
    }
  }
  return bias ? piece_of_taps<kO, true>(taps) : piece_of_taps<kO, false>(taps);
}

void add_taps(const KernelGradient& task, int outputs, Piece at) {
  for (at.channel = 0; at.channel < task.in_extent.channels; ++at.channel) {
    for (at.kernel_row = 0; at.kernel_row < task.kernel_rows; ++at.kernel_row) {
      int taps = 0;
      for (at.tap = 0; at.tap < task.kernel_columns; at.tap += taps) {
        taps = nearly_equal_part(task.kernel_columns - at.tap, kTaps);
        const bool bias = task.bias_sums != nullptr && at.channel == 0 && at.kernel_row == task.bias_row && at.tap == 0;
        find_piece(outputs, taps, bias)(task, at);
      }
    }
  }
}

void AddKernelGradient(const KernelGradient& task) {
  int outputs = 0;
  for (int o = 0; o < task.out_extent.channels; o += outputs) {
    outputs = nearly_equal_part(task.out_extent.channels - o, kOutputs);
    const std::ptrdiff_t row_bytes = task.out_strides.row * outputs * std::ptrdiff_t{sizeof(float)};
    const int cached_rows = static_cast<int>(std::max(std::ptrdiff_t{1}, kPartBytes / row_bytes));
    int rows = 0;
    for (int y = 0; y < task.out_extent.height; y += rows) {
      rows = nearly_equal_part(task.out_extent.height - y, cached_rows);
      Piece at{};
      at.output = o;
      at.row_begin = y;
      at.row_end = y + rows;
      add_taps(task, outputs, at);
    }
  }
}

int GradientOutputs() { return kOutputs; }

}  // namespace feroma::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace feroma::detail {

HWY_EXPORT(AddKernelGradient);
HWY_EXPORT(GradientOutputs);

void add_kernel_gradient(const KernelGradient& task) { HWY_DYNAMIC_DISPATCH(AddKernelGradient)(task); }

int gradient_outputs() { return HWY_DYNAMIC_DISPATCH(GradientOutputs)(); }

}  // namespace feroma::detail
#endif  // HWY_ONCE
