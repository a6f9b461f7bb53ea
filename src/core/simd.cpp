#include "feroma/core/simd.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <sstream>

#include "core/simd_targets.h"
#include "feroma/core/error.h"
#include "feroma/core/options.h"
// Highway reads core/simd_targets.h.
#include <hwy/targets.h>

namespace feroma {
namespace {

/// Highway's bits of our targets, best first.
constexpr std::array<std::pair<SimdTarget, std::int64_t>, 5> kTargets{{{SimdTarget::avx512, HWY_AVX3},
                                                                       {SimdTarget::avx2, HWY_AVX2},
                                                                       {SimdTarget::sse4, HWY_SSE4},
                                                                       {SimdTarget::neon, HWY_NEON},
                                                                       {SimdTarget::scalar, HWY_SCALAR}}};

/// Those of `supported` that kernels are compiled for. Highway falls back to its baseline without listing it.
std::vector<SimdTarget> compiled_targets(std::int64_t supported) {
  std::vector<SimdTarget> targets;
  for (const auto& [target, bit] : kTargets) {
    if (((supported | HWY_STATIC_TARGET) & HWY_TARGETS & bit) != 0) {
      targets.push_back(target);
    }
  }
  return targets;
}

std::int64_t bit_of(SimdTarget target) {
  const auto* found =
      std::find_if(kTargets.begin(), kTargets.end(), [&](const auto& row) { return row.first == target; });
  return found == kTargets.end() ? 0 : found->second;  // to Highway, no bit means no restriction
}

}  // namespace

std::vector<SimdTarget> simd_targets() {
  static const std::vector<SimdTarget> targets = compiled_targets(hwy::SupportedTargets());
  return targets;
}

std::string simd_target_names() {
  std::vector<std::string_view> names;
  for (const SimdTarget target : simd_targets()) {
    names.push_back(name_of(target));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

SimdTarget simd_target() {
  const std::vector<SimdTarget> targets = compiled_targets(hwy::SupportedTargets());
  require(!targets.empty(), ErrorCode::internal, "[simd] the kernels are compiled for no instruction set we know");
  return targets.front();
}

void use_simd(SimdTarget target) {
  const std::vector<SimdTarget> known = simd_targets();
  require(target == SimdTarget::automatic || std::find(known.begin(), known.end(), target) != known.end(),
          ErrorCode::invalid_config, "training.simd: this machine has {}, got {}", simd_target_names(),
          name_of(target));
  hwy::SetSupportedTargetsForTest(bit_of(target));
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

std::vector<std::string> cpu_features() {
  constexpr std::string_view kPrefixes[] = {"sse", "ssse", "avx", "fma", "f16c", "amx", "asimd", "neon", "sve"};
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  std::vector<std::string> features;
  while (features.empty() && std::getline(file, line)) {
    if (!line.starts_with("flags") && !line.starts_with("Features")) {
      continue;
    }
    std::istringstream words(line.substr(std::min(line.size(), line.find(':') + 1)));
    for (std::string word; words >> word;) {
      if (std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                      [&](auto prefix) { return word.starts_with(prefix); })) {
        features.push_back(word);
      }
    }
  }
  return features;
}

}  // namespace feroma
