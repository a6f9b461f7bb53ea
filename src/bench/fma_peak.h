#pragma once

#include <cstdint>

namespace feroma::detail {

/// What a loop of multiply-adds did: how many, and a value that depends on all of them.
struct FmaLoop {
  double products = 0;
  float sum = 0;
};

/// Multiply-adds in registers on the best SIMD target, `rounds` for each of enough independent accumulators that
/// neither latency nor memory holds them up.
[[nodiscard]] FmaLoop run_fma_loop(std::int64_t rounds);

}  // namespace feroma::detail
