#include "feroma/core/simd.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "feroma/core/options.h"
#include "tests/expect_error.h"
#include "tests/only_simd.h"

namespace feroma {
namespace {

bool here(SimdTarget target) {
  const std::vector<SimdTarget> all = simd_targets();
  return std::find(all.begin(), all.end(), target) != all.end();
}

TEST(Simd, TheMachineHasAtLeastOneTarget) {
  ASSERT_FALSE(simd_targets().empty());
  EXPECT_FALSE(here(SimdTarget::automatic));
  EXPECT_TRUE(simd_target_names().starts_with(name_of(simd_targets().front())));
}

TEST(Simd, AutomaticIsTheBest) {
  use_simd(SimdTarget::automatic);
  EXPECT_EQ(simd_target(), simd_targets().front());
}

TEST(Simd, EveryTargetOfTheMachineCanBeChosen) {
  for (const SimdTarget target : simd_targets()) {
    const OnlySimd only(target);
    EXPECT_EQ(simd_target(), target);
  }
  EXPECT_EQ(simd_target(), simd_targets().front());
}

TEST(Simd, AForeignTargetIsRefusedWithTheListAndChangesNothing) {
  const SimdTarget foreign = here(SimdTarget::neon) ? SimdTarget::avx2 : SimdTarget::neon;
  const OnlySimd only(simd_targets().back());
  expect_error(ErrorCode::invalid_config, simd_target_names() + ", got " + std::string(name_of(foreign)), [&] {
    use_simd(foreign);
    return 0;
  });
  EXPECT_EQ(simd_target(), simd_targets().back());
}

TEST(Simd, CpuFeaturesNameWhatTheTargetNeeds) {
  const std::vector<std::string> features = cpu_features();
  const auto has = [&](const char* name) {
    return std::find(features.begin(), features.end(), name) != features.end();
  };
  if (features.empty()) {
    GTEST_SKIP() << "/proc/cpuinfo lists nothing here: the CPU's features are NOT compared with the targets";
  }
  EXPECT_TRUE(!here(SimdTarget::avx512) || has("avx512f"));
  EXPECT_TRUE(!here(SimdTarget::avx2) || (has("avx2") && has("fma")));
}

}  // namespace
}  // namespace feroma
