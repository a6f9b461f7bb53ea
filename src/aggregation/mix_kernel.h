#pragma once

#include <cstddef>
#include <span>

namespace feroma::detail {

/// Outputs that one pass over the sources makes at once: their sums stay in registers.
constexpr std::size_t kTileRows = 6;
/// Parameters of one pass.
constexpr std::size_t kTileValues = 64;
/// Sources of one pass: their values stay in the first-level cache while every row passes over them.
constexpr std::size_t kPassSources = 128;

/// One source of a tile: its weight in each of the tile's rows, none of them zero.
struct TileSource {
  std::size_t source = 0;
  float weights[kTileRows] = {};
};

/// Adds a few sources to the sums of one row or of kTileRows neighbouring rows.
struct MixPass {
  std::span<const TileSource> sources;
  std::span<const float* const> values;  ///< by source: where its range of parameters begins
  float* sums = nullptr;                 ///< rows x kTileValues
  std::size_t rows = 0;
  std::size_t length = 0;  ///< of the range, at most kTileValues
};

/// sums[r][i] += weights[r] * values[i] for the sources in order, one fused multiply-add per product; the same bits on
/// every target that has FMA.
void mix_pass(const MixPass& pass);

}  // namespace feroma::detail
