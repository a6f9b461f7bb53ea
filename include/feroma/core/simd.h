#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace feroma {

/// Instruction sets that our kernels are compiled for.
enum class SimdTarget { automatic, avx512, avx2, sse4, neon, scalar };
constexpr auto enum_names(SimdTarget) {
  using enum SimdTarget;
  return std::array<std::pair<SimdTarget, std::string_view>, 6>{
      {{automatic, "auto"}, {avx512, "avx512"}, {avx2, "avx2"}, {sse4, "sse4"}, {neon, "neon"}, {scalar, "scalar"}}};
}

/// Whether products are added with one rounding: all such targets give the same bits, the others nearly the same.
constexpr bool has_fused_products(SimdTarget target) {
  return target != SimdTarget::sse4 && target != SimdTarget::scalar;
}

/// What this build can use on this machine, best first; never empty, never automatic.
[[nodiscard]] std::vector<SimdTarget> simd_targets();
/// The same as one line: "avx2, sse4, scalar".
[[nodiscard]] std::string simd_target_names();
/// What the kernels use now.
[[nodiscard]] SimdTarget simd_target();
/// Makes every kernel of the process use `target`; automatic takes the best. An `invalid_config` error that lists what
/// there is where the machine cannot. Call it while no kernel runs.
void use_simd(SimdTarget target);

/// What the CPU says it can do that may matter to a result: "avx2", "fma", "asimd". Empty where nobody says.
[[nodiscard]] std::vector<std::string> cpu_features();

}  // namespace feroma
