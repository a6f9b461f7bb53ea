#pragma once

#include <cstdint>

namespace feroma::detail {

/// Multiply-adds in registers on the best SIMD target, `rounds` for each of enough independent accumulators that
/// neither latency nor memory holds them up. Returns how many products that were.
[[nodiscard]] double run_fma_loop(std::int64_t rounds);

}  // namespace feroma::detail
