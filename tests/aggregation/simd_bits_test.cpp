// A mix gives the same bits on AVX-512, AVX2 and NEON: all are compared with one stored checksum.
#include "feroma/aggregation/mix.h"
#include "feroma/core/rng.h"
#include "feroma/models/spec.h"
#include "tests/golden_bits.h"

namespace feroma {
namespace {

/// 61 706 parameters: blocks and a tail.
Parameters mix_of_three(SimdTarget target) {
  const OnlySimd only(target);
  const ModelSpec spec = lenet5({1, 28, 28}, 10);
  const std::vector<ParametersPtr> sources{share(initialise(spec, Rng(1))), share(initialise(spec, Rng(2))),
                                           share(initialise(spec, Rng(3)))};
  return std::move(mix(sources, std::vector<float>{0.2F, 0.5F, 0.3F}).front());
}

class MixBits : public OnEverySimdTarget {};

TEST_P(MixBits, AreTheStoredOnes) {
  const Parameters mixed = mix_of_three(GetParam());
  if (has_fused_products()) {
    expect_golden_bits("mix", mixed.values());
  } else {
    expect_rounded_otherwise(mixed.values(), mix_of_three(SimdTarget::automatic).values(), 1e-7);
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, MixBits, every_simd_target(), simd_test_name);

}  // namespace
}  // namespace feroma
