#pragma once

#include <cstdint>
#include <span>

namespace feroma::detail {

/// Multiply-adds in registers on the best SIMD target, `rounds` for each of enough independent accumulators that
/// neither latency nor memory holds them up. Returns how many products that were.
[[nodiscard]] double run_fma_loop(std::int64_t rounds);

/// The same with one operand read from memory, as every kernel must: `rounds` times over `values`, each vector used for
/// six sums. Over values that fit the second-level cache this is the most that a convolution can reach.
[[nodiscard]] double run_tile_loop(std::span<const float> values, std::int64_t rounds);

}  // namespace feroma::detail
