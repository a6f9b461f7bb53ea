// One LeNet-5 step gives the same bits on AVX-512, AVX2 and NEON: all are compared with one stored checksum.
#include "feroma/engine/engine.h"
#include "tests/engine/engine_support.h"
#include "tests/golden_bits.h"

namespace feroma {
namespace {

struct Result {
  double loss = 0;
  std::vector<float> gradient;
  Activations answers;
};

/// 90 samples: a full block and a part of one.
Result lenet5_step(SimdTarget target) {
  const OnlySimd only(target);
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const auto engine = make_engine(EngineKind::native, spec);
  Parameters params = initialise(spec, Rng(11));
  const Batch batch = laid_out(random_batch(spec, 90, 12), engine->layout());
  Result result;
  result.gradient.resize(params.size());
  result.loss = engine->gradient(params, batch, result.gradient);
  result.answers = engine->forward(params, batch, Latent::penultimate);
  return result;
}

class NativeEngineBits : public OnEverySimdTarget {};

TEST_P(NativeEngineBits, OfALeNet5StepAreTheStoredOnes) {
  const Result result = lenet5_step(GetParam());
  if (has_fused_products()) {
    expect_golden_bits("lenet5_loss", std::as_bytes(std::span(&result.loss, 1)));
    expect_golden_bits("lenet5_gradient", result.gradient);
    expect_golden_bits("lenet5_logits", result.answers.logits);
    expect_golden_bits("lenet5_latents", result.answers.latents);
  } else {
    const Result best = lenet5_step(SimdTarget::automatic);
    EXPECT_NEAR(result.loss, best.loss, 1e-6);
    expect_rounded_otherwise(result.gradient, best.gradient, 1e-6);
    expect_rounded_otherwise(result.answers.logits, best.answers.logits, 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, NativeEngineBits, every_simd_target(), simd_test_name);

}  // namespace
}  // namespace feroma
