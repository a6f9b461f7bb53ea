#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include "engine/native/kernels.h"
#include "feroma/core/options.h"
#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"
#include "feroma/metrics/tally.h"
#include "tests/engine/engine_support.h"
#include "tests/engine/layer_specs.h"
#include "tests/expect_error.h"
#include "tests/only_simd.h"

namespace feroma {
namespace {

struct Step {
  double loss = 0;
  std::vector<float> gradient;
};

Step step_of(Engine& engine, const Parameters& params, const Batch& batch) {
  Parameters copy = params.clone();
  Step step;
  step.gradient.resize(copy.size());
  step.loss = engine.gradient(copy, laid_out(batch, engine.layout()), step.gradient);
  return step;
}

Activations answer_of(Engine& engine, const Parameters& params, const Batch& batch, Latent latent) {
  return engine.forward(params, laid_out(batch, engine.layout()), latent);
}

/// Models that reach every path of the planner: borders that come and go, windows that cut, wide kernels, no pooling.
std::vector<ModelSpec> odd_specs() {
  return {
      tiny_spec(),
      {"no-pooling", {2, 7, 6}, 3, {Conv2d{"a", 7, 3, 0}, Relu{}, Conv2d{"b", 5, 3, 1}, Flatten{}, Linear{"c", 3}}},
      {"wide-kernel",
       {1, 9, 9},
       2,
       {Conv2d{"a", 5, 7, 3}, Relu{}, Conv2d{"b", 2, 6, 2}, AvgPool{3}, Relu{}, Flatten{}, Linear{"c", 2}}},
      {"wide-padding", {1, 5, 4}, 2, {Conv2d{"a", 3, 3, 1}, Relu{}, Conv2d{"b", 2, 2, 3}, Flatten{}, Linear{"c", 2}}},
      {"rectified-input", {2, 4, 4}, 3, {Relu{}, AvgPool{2}, Flatten{}, Relu{}, Linear{"a", 9}, Linear{"b", 3}}},
      {"ends-in-convolution", {3, 4, 4}, 5, {Conv2d{"a", 4, 3, 1}, Relu{}, Conv2d{"b", 5, 4, 0}}},
      {"convolves-a-vector",
       {3, 2, 2},
       4,
       {Flatten{}, Linear{"a", 6}, Conv2d{"b", 5, 3, 1}, Relu{}, Flatten{}, Linear{"c", 4}}},
  };
}

TEST(NativeEngine, GradientAgreesWithFiniteDifferences) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::native, spec);
  Parameters params = initialise(spec, Rng(1));
  const Batch batch = random_batch(spec, 7, 2);
  const Step step = step_of(*engine, params, batch);
  const auto loss = [&] {
    const Activations out = answer_of(*engine, params, batch, Latent::flatten);
    return tally_logits(out.logits, out.classes, batch.labels).loss();
  };
  EXPECT_NEAR(step.loss, loss(), 1e-6);

  // A central difference with step h errs by about 1e-7 / h from float32 rounding and by h^2 from curvature.
  constexpr float kStep = 5e-3F;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const float kept = params.values()[i];
    params.values()[i] = kept + kStep;
    const double above = loss();
    params.values()[i] = kept - kStep;
    const double below = loss();
    params.values()[i] = kept;
    EXPECT_NEAR(static_cast<double>(step.gradient[i]), (above - below) / (2.0 * static_cast<double>(kStep)), 1e-3) << i;
  }
  EXPECT_GT(*std::max_element(step.gradient.begin(), step.gradient.end()), 0.05F);
}

class NativeAgainstTorch : public testing::Test {
 protected:
  void SetUp() override {
    if (!engine_available(EngineKind::torch)) {
      GTEST_SKIP() << "this build has no libtorch: the native engine is NOT compared with it";
    }
  }

  static void compare(const ModelSpec& spec, const Batch& batch) {
    const auto native = make_engine(EngineKind::native, spec);
    const auto torch = make_engine(EngineKind::torch, spec);
    const Parameters params = initialise(spec, Rng(3));
    const Step ours = step_of(*native, params, batch);
    const Step theirs = step_of(*torch, params, batch);
    EXPECT_NEAR(ours.loss, theirs.loss, 1e-6) << spec.name << batch.size;
    // Both sum float32 products, in different orders.
    EXPECT_LT(relative_error(ours.gradient, theirs.gradient), 1e-5) << spec.name << batch.size;
    const Activations a = answer_of(*native, params, batch, Latent::penultimate);
    const Activations b = answer_of(*torch, params, batch, Latent::penultimate);
    EXPECT_LT(relative_error(a.logits, b.logits), 1e-5) << spec.name << batch.size;
    EXPECT_LT(relative_error(a.latents, b.latents), 1e-5) << spec.name << batch.size;
  }
};

TEST_F(NativeAgainstTorch, LeNet5AgreesForEveryBatchSizeAndInput) {
  for (const SampleShape shape : {SampleShape{1, 28, 28}, SampleShape{3, 28, 28}, SampleShape{3, 32, 32}}) {
    const ModelSpec spec = lenet5(shape, 10);
    for (const int size : {1, 7, 63, 64, 65, 130}) {
      compare(spec, random_batch(spec, size, 5));
    }
  }
}

TEST_F(NativeAgainstTorch, EverySpecAgrees) {
  for (const ModelSpec& spec : odd_specs()) {
    const bool has_latent = std::holds_alternative<Linear>(spec.layers.back());
    for (const int size : {1, 20, 70}) {
      if (has_latent) {
        compare(spec, random_batch(spec, size, 6));
      } else {
        const auto native = make_engine(EngineKind::native, spec);
        const auto torch = make_engine(EngineKind::torch, spec);
        const Parameters params = initialise(spec, Rng(3));
        const Batch batch = random_batch(spec, size, 6);
        EXPECT_LT(relative_error(step_of(*native, params, batch).gradient, step_of(*torch, params, batch).gradient),
                  1e-5);
      }
    }
  }
}

TEST_F(NativeAgainstTorch, WeightedSamplesAgree) {
  const ModelSpec spec = lenet5({1, 28, 28}, 10);
  Batch batch = random_batch(spec, 70, 7);
  for (int i = 0; i < batch.size; ++i) {
    batch.weights.push_back(static_cast<float>(i % 5) * 0.5F);
  }
  compare(spec, batch);
}

TEST(NativeEngine, VectorWidthDoesNotChangeABit) {
  if (simd_targets().front() != SimdTarget::avx512) {
    GTEST_SKIP() << "this machine has no AVX-512: its bits are NOT compared with those of AVX2";
  }
  std::vector<ModelSpec> specs = odd_specs();
  const std::vector<ModelSpec> layers = layer_specs();
  specs.insert(specs.end(), layers.begin(), layers.end());
  specs.push_back(lenet5({3, 28, 28}, 10));
  specs.push_back(lenet5({1, 32, 32}, 7));
  for (const ModelSpec& spec : specs) {
    const auto engine = make_engine(EngineKind::native, spec);
    const Parameters params = initialise(spec, Rng(11));
    const Batch batch = random_batch(spec, 90, 12);
    const Step wide = step_of(*engine, params, batch);
    const OnlySimd narrow(SimdTarget::avx2);
    const Step same = step_of(*engine, params, batch);
    EXPECT_TRUE(same_bits(wide.gradient, same.gradient)) << spec.name;
    EXPECT_EQ(wide.loss, same.loss) << spec.name;
  }
}

TEST(NativeEngine, MachinesWithoutFusedProductsAgreeUpToRounding) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const auto engine = make_engine(EngineKind::native, spec);
  const Parameters params = initialise(spec, Rng(11));
  const Batch batch = random_batch(spec, 20, 12);
  const Step best = step_of(*engine, params, batch);
  for (const SimdTarget target : simd_targets()) {
    const OnlySimd old(target);
    EXPECT_LT(relative_error(step_of(*engine, params, batch).gradient, best.gradient), 1e-5) << name_of(target);
  }
}

TEST(NativeEngine, ASamplesResultDoesNotDependOnItsBatch) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const auto engine = make_engine(EngineKind::native, spec);
  const Parameters params = initialise(spec, Rng(1));
  const Batch batch = random_batch(spec, 130, 4);
  const Activations all = answer_of(*engine, params, batch, Latent::flatten);
  const auto pixels = static_cast<std::size_t>(spec.input.size());
  for (const std::size_t sample : {0U, 15U, 16U, 63U, 64U, 129U}) {
    Batch one;
    one.size = 1;
    one.shape = spec.input;
    one.inputs.assign(batch.inputs.begin() + static_cast<std::ptrdiff_t>(sample * pixels),
                      batch.inputs.begin() + static_cast<std::ptrdiff_t>((sample + 1) * pixels));
    const Activations alone = answer_of(*engine, params, one, Latent::flatten);
    EXPECT_TRUE(same_bits(alone.logits, std::span(all.logits).subspan(sample * 10, 10))) << sample;
    EXPECT_TRUE(same_bits(alone.latents, std::span(all.latents).subspan(sample * 400, 400))) << sample;
  }
}

TEST(NativeEngine, NothingIsLeftFromTheBatchBefore) {
  const ModelSpec spec = lenet5({1, 28, 28}, 10);
  const auto used = make_engine(EngineKind::native, spec);
  const Parameters params = initialise(spec, Rng(1));
  static_cast<void>(step_of(*used, params, random_batch(spec, 130, 1)));
  for (const int size : {5, 24, 64, 70}) {
    const Batch batch = random_batch(spec, size, 2);
    const Step fresh = step_of(*make_engine(EngineKind::native, spec), params, batch);
    EXPECT_TRUE(same_bits(fresh.gradient, step_of(*used, params, batch).gradient)) << size;
  }
}

TEST(NativeEngine, EveryThreadGetsTheSameBits) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  const Parameters params = initialise(spec, Rng(1));
  const Batch batch = random_batch(spec, 64, 2);
  std::array<Step, 2> steps;
  {
    std::jthread a([&] { steps[0] = step_of(*make_engine(EngineKind::native, spec), params, batch); });
    std::jthread b([&] { steps[1] = step_of(*make_engine(EngineKind::native, spec), params, batch); });
  }
  EXPECT_TRUE(same_bits(steps[0].gradient, steps[1].gradient));
  EXPECT_EQ(steps[0].loss, steps[1].loss);
}

TEST(NativeEngine, LinearModelHasTheGradientOfTheFormula) {
  const ModelSpec spec{"linear", {2, 1, 1}, 2, {Flatten{}, Linear{"fc", 2}}};
  const auto engine = make_engine(EngineKind::native, spec);
  Batch batch;
  batch.size = 1;
  batch.shape = {2, 1, 1};
  batch.inputs = {3.0F, -1.0F};
  batch.labels = {0};
  // All logits are 0, so p = 1/2 and d loss / d logits = (-1/2, 1/2).
  const Step step = step_of(*engine, Parameters(make_layout(spec)), batch);
  EXPECT_NEAR(step.loss, std::log(2.0), 1e-15);
  EXPECT_EQ(step.gradient, (std::vector<float>{-1.5F, 0.5F, 1.5F, -0.5F, -0.5F, 0.5F}));
}

TEST(NativeEngine, LatentsAreTheActivationsTheyName) {
  // The flatten latent is the window means (3, -25), kept although a ReLU follows; then relu(their sum, minus it).
  const ModelSpec spec{"mean", {1, 2, 4}, 1, {AvgPool{2}, Flatten{}, Relu{}, Linear{"a", 2}, Relu{}, Linear{"b", 1}}};
  const auto engine = make_engine(EngineKind::native, spec);
  Parameters params(make_layout(spec));
  const std::array<float, 9> values{1, 1, -1, -1, /*a.bias*/ 0, 0, /*b.weight*/ 1, 1, /*b.bias*/ 2};
  std::copy(values.begin(), values.end(), params.values().begin());
  Batch batch;
  batch.size = 1;
  batch.shape = {1, 2, 4};
  batch.inputs = {1, 2, -10, -20, 3, 6, -30, -40};
  const Activations flat = answer_of(*engine, params, batch, Latent::flatten);
  EXPECT_EQ(flat.latents, (std::vector<float>{3.0F, -25.0F}));
  const Activations penultimate = answer_of(*engine, params, batch, Latent::penultimate);
  EXPECT_EQ(penultimate.latents, (std::vector<float>{3.0F, 0.0F}));
  EXPECT_EQ(penultimate.logits, (std::vector<float>{5.0F}));
}

TEST(NativeEngine, SampleWeightsAreDividedByTheBatchSize) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::native, spec);
  const Parameters params = initialise(spec, Rng(1));
  Batch weighted = random_batch(spec, 2, 3);
  Batch second = weighted;
  weighted.weights = {0.0F, 3.0F};
  second.size = 1;
  second.inputs.erase(second.inputs.begin(), second.inputs.begin() + spec.input.size());
  second.labels.erase(second.labels.begin());
  const Step expected = step_of(*engine, params, second);
  const Step step = step_of(*engine, params, weighted);
  EXPECT_NEAR(step.loss, 1.5 * expected.loss, 1e-12);
  for (std::size_t i = 0; i < step.gradient.size(); ++i) {
    EXPECT_NEAR(step.gradient[i], 1.5F * expected.gradient[i], 1e-6F);
  }
}

TEST(NativeEngine, ADivergedModelIsSeenInTheLoss) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::native, spec);
  Parameters params = initialise(spec, Rng(1));
  params.segment(0)[0] = std::nanf("");
  EXPECT_TRUE(std::isnan(step_of(*engine, params, random_batch(spec, 3, 1)).loss));
}

TEST(NativeEngine, ALogitThatIsNotANumberIsSeenWhicheverClassItIsOf) {
  const ModelSpec spec{"linear", {2, 1, 1}, 3, {Flatten{}, Linear{"fc", 3}}};
  const auto engine = make_engine(EngineKind::native, spec);
  for (const Loss loss : {Loss::cross_entropy, Loss::entropy, Loss::binary_cross_entropy}) {
    for (std::size_t broken = 0; broken < 3; ++broken) {
      Parameters params = initialise(spec, Rng(1));
      params.segment(1)[broken] = std::nanf("");
      Batch batch = random_batch(spec, 5, 1);
      batch.labels.assign(5, 2);
      batch.targets.assign(15, 1.0F);
      std::vector<float> gradient(params.size());
      EXPECT_TRUE(
          std::isnan(engine->gradient(params, laid_out(batch, engine->layout()), Objective{loss, {}, {}}, gradient)))
          << "class " << broken << ", loss " << static_cast<int>(loss);
    }
  }
}

TEST(NativeEngine, ASamplesResultDoesNotDependOnItsBatchForAnyLayer) {
  for (const ModelSpec& spec : layer_specs()) {
    const auto engine = make_engine(EngineKind::native, spec);
    const Parameters params = initialise(spec, Rng(1));
    const Batch batch = random_batch(spec, 70, 4);
    const Latent latent = find_latent_layer(spec, Latent::penultimate) ? Latent::penultimate : Latent::flatten;
    const Activations all = answer_of(*engine, params, batch, latent);
    const auto classes = static_cast<std::size_t>(spec.classes);
    for (const std::size_t sample : {0U, 17U, 64U, 69U}) {
      Batch one;
      one.size = 1;
      one.shape = spec.input;
      const auto first = batch.inputs.begin() + static_cast<std::ptrdiff_t>(sample) * spec.input.size();
      one.inputs.assign(first, first + spec.input.size());
      const Activations alone = answer_of(*engine, params, one, latent);
      EXPECT_TRUE(same_bits(alone.logits, std::span(all.logits).subspan(sample * classes, classes))) << spec.name;
    }
  }
}

TEST(NativeEngine, WrongInputIsAnErrorNotACrash) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::native, spec);
  Parameters params = initialise(spec, Rng(1));
  std::vector<float> gradient(params.size());
  const Batch good = laid_out(random_batch(spec, 2, 1), engine->layout());

  Batch batch = good;
  batch.labels[0] = 3;
  expect_error(ErrorCode::invalid_data, "label", [&] { return engine->gradient(params, batch, gradient); });
  batch = good;
  batch.shape.channels = 1;
  expect_error(ErrorCode::invalid_data, "2 x 9 x 8, got 1 x 9 x 8",
               [&] { return engine->gradient(params, batch, gradient); });
  batch = good;
  batch.layout = BatchLayout::sample_major;
  expect_error(ErrorCode::internal, "layout", [&] { return engine->forward(params, batch, Latent::flatten); });
  batch = good;
  batch.inputs.pop_back();
  expect_error(ErrorCode::invalid_data, "values", [&] { return engine->forward(params, batch, Latent::flatten); });
  gradient.pop_back();
  expect_error(ErrorCode::internal, "gradient", [&] { return engine->gradient(params, good, gradient); });
  const Parameters other = initialise(lenet5({1, 28, 28}, 10), Rng(1));
  expect_error(ErrorCode::invalid_data, "parameters, got 61706",
               [&] { return engine->forward(other, good, Latent::flatten); });
}

TEST(NativeEngine, RefusesAModelWithoutWeights) {
  const ModelSpec spec{"bare", {3, 1, 1}, 3, {Flatten{}}};
  expect_error(ErrorCode::unsupported, "weights", [&] { return make_engine(EngineKind::native, spec); });
}

TEST(ReduceLanes, AddsByHalves) {
  // 1e8 swallows a 1 next to it in float32; paired by halves, lanes 0 and 8 cancel before the ones are added.
  std::array<float, 32> sums{};
  sums[0] = 1e8F;
  sums[8] = -1e8F;
  sums[1] = 1.0F;
  sums[15] = 2.0F;
  sums[16] = 5.0F;
  std::array<float, 2> out{};
  detail::reduce_lanes(sums.data(), out);
  EXPECT_EQ(out[0], 3.0F);
  EXPECT_EQ(out[1], 5.0F);
}

}  // namespace
}  // namespace feroma
