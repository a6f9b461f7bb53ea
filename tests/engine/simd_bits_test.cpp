// AVX-512, AVX2 and NEON give the same bits: all are compared with one stored checksum.
#include "feroma/engine/engine.h"
#include "feroma/engine/sgd.h"
#include "tests/engine/engine_support.h"
#include "tests/engine/layer_specs.h"
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

/// Gradients, buffers and answers of every layer under every loss, one after the other.
std::vector<float> every_layer(SimdTarget target) {
  const OnlySimd only(target);
  std::vector<float> values;
  const auto append = [&](std::span<const float> more) { values.insert(values.end(), more.begin(), more.end()); };
  for (const ModelSpec& spec : layer_specs()) {
    const auto engine = make_engine(EngineKind::native, spec);
    const Latent latent = find_latent_layer(spec, Latent::penultimate) ? Latent::penultimate : Latent::flatten;
    for (const Loss loss : kLosses) {
      Parameters params = lively(spec, 21);
      const Batch batch = laid_out(full_batch(spec, 37, 22), engine->layout());
      std::vector<float> gradient(params.size());
      Objective objective;
      objective.loss = loss;
      values.push_back(static_cast<float>(engine->gradient(params, batch, objective, gradient)));
      append(gradient);
      append(params.values());
      append(engine->forward(params, batch, latent).logits);
    }
  }
  return values;
}

TEST_P(NativeEngineBits, OfEveryLayerAndLossAreTheStoredOnes) {
  const std::vector<float> values = every_layer(GetParam());
  if (has_fused_products()) {
    expect_golden_bits("every_layer", values);
  } else {
    expect_rounded_otherwise(values, every_layer(SimdTarget::automatic), 1e-3);
  }
}

/// Momentum rounds every product, so that all machines agree, those without fused products too.
TEST_P(NativeEngineBits, OfAMomentumStepAreTheStoredOnes) {
  const OnlySimd only(GetParam());
  Rng rng(31);
  std::vector<float> params(77);
  std::vector<float> velocity(params.size());
  std::vector<float> gradient(params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    params[i] = static_cast<float>(rng.uniform());
    gradient[i] = static_cast<float>(rng.uniform());
  }
  for (int step = 0; step < 5; ++step) {
    sgd_step(params, velocity, gradient, 0.01, 0.9);
  }
  expect_golden_bits("sgd_params", params);
  expect_golden_bits("sgd_velocity", velocity);
}

INSTANTIATE_TEST_SUITE_P(Simd, NativeEngineBits, every_simd_target(), simd_test_name);

}  // namespace
}  // namespace feroma
