#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "feroma/core/batch.h"

namespace feroma::detail {

/**
 * The native engine keeps 16 samples side by side: activations are [group][channel][row][column][16]. One such pixel is
 * one AVX-512 vector, two of AVX2 or four of NEON, and every lane is one sample, so the vector width never changes the
 * order of an addition.
 */
constexpr int kGroupLanes = kBatchLanes;
constexpr int kBlockLanes = 64;
constexpr int kBlockGroups = kBlockLanes / kGroupLanes;
/// Most output pixels that one register tile covers; a tile may read this many minus one columns beside a row.
constexpr int kTilePixels = 4;
/// Most output channels that one register tile covers.
constexpr int kTileOutputs = 6;

/// What is read again and again stays in the first-level cache when it is no larger than this.
constexpr std::ptrdiff_t kPartBytes = 24 * 1024;

/// The first of nearly equal parts of at most `most`: 16 in steps of 6 is 6 + 5 + 5, not 6 + 6 + 4.
constexpr int nearly_equal_part(int left, int most) {
  const int parts = (left + most - 1) / most;
  return (left + parts - 1) / parts;
}

/// How far apart neighbours lie, in floats.
struct Strides {
  std::ptrdiff_t channel = 0;
  std::ptrdiff_t row = 0;
  std::ptrdiff_t column = 0;
};

struct Extent {
  int channels = 0;
  int height = 0;
  int width = 0;
};

/// What happens to a sum before it is stored.
struct Finish {
  const float* bias = nullptr;  ///< where sums start, one per output channel; null: at zero
  const float* mask = nullptr;  ///< laid out like the output: where it is not above zero, zero is stored
  bool rectify = false;
  bool accumulate = false;  ///< sums start at what the output holds
};

/**
 * out[o][y][x] = sum over i, r, c of weights[o][i][r][c] * in[i][y + r - padding][x + c - padding], one fused
 * multiply-add per product, in that order. Rows beside the input are skipped; min(padding, kTilePixels - 1) columns
 * beside it must exist and be zero.
 */
struct Correlation {
  const float* in = nullptr;
  const float* weights = nullptr;
  float* out = nullptr;
  Extent in_extent;
  Extent out_extent;
  Strides in_strides;
  std::ptrdiff_t in_tap = 0;  ///< from the input under one kernel column to the next; a picture's column stride
  Strides out_strides;
  std::ptrdiff_t weight_out = 0;  ///< from one output channel's weights to the next
  Strides weight_strides;
  int kernel_height = 1;
  int kernel_width = 1;
  int padding_rows = 0;  ///< less the first output row where only some are wanted
  int padding_columns = 0;
  Finish finish;
};
void correlate(const Correlation& task);

/// sums[o][i][r][c][lane] += sum over y, x of out_gradient[o][y][x][lane] * in[i][y + r - padding_rows][x + c -
/// padding_columns][lane].
struct KernelGradient {
  const float* in = nullptr;  ///< `padding_columns` zero columns lie on either side of each row
  const float* out_gradient = nullptr;
  float* sums = nullptr;
  float* bias_sums = nullptr;  ///< [o][lane] += the sum of out_gradient; null: nobody asks
  Extent in_extent;
  Extent out_extent;
  Strides in_strides;
  Strides out_strides;
  int kernel_rows = 1;
  int kernel_columns = 1;
  int padding_rows = 0;  ///< less the first output row where only some are given
  int padding_columns = 0;
  int bias_row = 0;  ///< a row of the kernel that lies over the whole output: under it the bias is summed
};
void add_kernel_gradient(const KernelGradient& task);
/// Most outputs that one of its register tiles covers on this processor; a part with one more leaves a tile half empty.
int gradient_outputs();

/// sums[channel][lane] += every pixel of the channel.
void add_pixels(const float* in, Extent extent, Strides strides, float* sums);
/// out[i] = the sum of sums[i][0..16) by halves: lane l + lane l + 8, then 4, 2, 1.
void reduce_lanes(const float* sums, std::span<float> out);

/// Windows of rows x columns, side by side. Neighbouring columns lie kGroupLanes apart.
struct Pooling {
  int rows = 1;
  int columns = 1;
  Extent in_extent;
  Extent out_extent;
  Strides in_strides;
  Strides out_strides;
};
/// Which values of a picture are not above zero, where it is the output of a ReLU.
struct Blocked {
  std::uint8_t* bits = nullptr;  ///< of the whole picture; null: nobody asks
  int height = 0;                ///< of the whole picture
  int channel = 0;               ///< where the part that a task works on starts
  int row = 0;
};
/// Most bytes that the bits take per pixel of the picture, and what may be read behind it.
constexpr std::size_t kBlockedBytes = 16;
/// The windows' means; remembers what is blocked.
void pool(const Pooling& task, const float* in, bool rectify, float* out, Blocked blocked);
/// The gradient of the picture, zero where it is blocked.
void pool_gradient(const Pooling& task, const float* out_gradient, Blocked blocked, float* in_gradient);

/// Turns [channel][row][column][16] into [row][column][16][channel], with zero rows and columns around the picture and
/// channels filled up to a multiple of 16.
struct Transposition {
  Extent extent;
  Strides strides;
  int border_rows = 0;
  int border_columns = 0;
};
void transpose(const Transposition& task, const float* in, float* out);

}  // namespace feroma::detail
