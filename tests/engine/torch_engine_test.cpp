#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <thread>

#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"
#include "feroma/metrics/tally.h"
#include "tests/engine/engine_support.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

class TorchEngine : public testing::Test {
 protected:
  void SetUp() override {
    if (!engine_available(EngineKind::torch)) {
      GTEST_SKIP() << "this build has no libtorch: the torch engine is NOT tested";
    }
  }
};

double loss_of(Engine& engine, const Parameters& params, const Batch& batch) {
  const Activations out = engine.forward(params, batch, Latent::flatten);
  return tally_logits(out.logits, out.classes, batch.labels).loss();
}

TEST_F(TorchEngine, GradientAgreesWithFiniteDifferences) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  const Batch batch = random_batch(spec, 7, 2);
  std::vector<float> gradient(params.size());
  const double loss = engine->gradient(params, batch, gradient);
  EXPECT_NEAR(loss, loss_of(*engine, params, batch), 1e-6);

  // A central difference with step h errs by about 1e-7 / h from float32 rounding and by h^2 from curvature.
  constexpr float kStep = 5e-3F;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const float kept = params.values()[i];
    params.values()[i] = kept + kStep;
    const double above = loss_of(*engine, params, batch);
    params.values()[i] = kept - kStep;
    const double below = loss_of(*engine, params, batch);
    params.values()[i] = kept;
    EXPECT_NEAR(static_cast<double>(gradient[i]), (above - below) / (2.0 * static_cast<double>(kStep)), 1e-3) << i;
  }
  EXPECT_GT(*std::max_element(gradient.begin(), gradient.end()), 0.05F);
}

TEST_F(TorchEngine, LinearModelHasTheGradientOfTheFormula) {
  const ModelSpec spec{"linear", {2, 1, 1}, 2, {Flatten{}, Linear{"fc", 2}}};
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params(make_layout(spec));
  Batch batch;
  batch.size = 1;
  batch.shape = {2, 1, 1};
  batch.inputs = {3.0F, -1.0F};
  batch.labels = {0};
  std::vector<float> gradient(6);
  // All logits are 0, so p = 1/2 and d loss / d logits = (-1/2, 1/2).
  EXPECT_NEAR(engine->gradient(params, batch, gradient), std::log(2.0), 1e-7);
  EXPECT_EQ(gradient, (std::vector<float>{-1.5F, 0.5F, 1.5F, -0.5F, -0.5F, 0.5F}));
}

TEST_F(TorchEngine, SampleWeightsAreDividedByTheBatchSize) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  const Batch both = random_batch(spec, 2, 3);
  Batch weighted = both;
  weighted.weights = {0.0F, 3.0F};
  Batch second = both;
  second.size = 1;
  second.inputs.erase(second.inputs.begin(), second.inputs.begin() + spec.input.size());
  second.labels = {both.labels[1]};

  std::vector<float> expected(params.size());
  const double loss = engine->gradient(params, second, expected);
  std::vector<float> gradient(params.size());
  EXPECT_NEAR(engine->gradient(params, weighted, gradient), 1.5 * loss, 1e-6);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    EXPECT_NEAR(gradient[i], 1.5F * expected[i], 1e-6F);
  }
}

TEST_F(TorchEngine, UnitWeightsChangeNothing) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  Batch batch = random_batch(spec, 5, 3);
  std::vector<float> plain(params.size());
  const double loss = engine->gradient(params, batch, plain);
  batch.weights.assign(5, 1.0F);
  std::vector<float> weighted(params.size());
  EXPECT_NEAR(engine->gradient(params, batch, weighted), loss, 1e-6);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_NEAR(weighted[i], plain[i], 1e-6F);
  }
}

TEST_F(TorchEngine, GradientLeavesTheParametersAlone) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  const Parameters before = params.clone();
  std::vector<float> gradient(params.size());
  engine->gradient(params, random_batch(spec, 3, 1), gradient);
  EXPECT_TRUE(std::equal(params.values().begin(), params.values().end(), before.values().begin()));
}

TEST_F(TorchEngine, LatentsAreTheActivationsTheyName) {
  // The flatten latent is the window means (3, 25), the penultimate one relu(their sum, minus their sum).
  const ModelSpec spec{"mean", {1, 2, 4}, 1, {AvgPool{2}, Flatten{}, Linear{"a", 2}, Relu{}, Linear{"b", 1}}};
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params(make_layout(spec));
  const std::array<float, 9> values{1, 1, -1, -1, /*a.bias*/ 0, 0, /*b.weight*/ 1, 1, /*b.bias*/ 2};
  std::copy(values.begin(), values.end(), params.values().begin());
  Batch batch;
  batch.size = 1;
  batch.shape = {1, 2, 4};
  batch.inputs = {1, 2, 10, 20, 3, 6, 30, 40};
  const Activations flat = engine->forward(params, batch, Latent::flatten);
  EXPECT_EQ(flat.latents, (std::vector<float>{3.0F, 25.0F}));
  EXPECT_EQ(flat.latent_size, 2);
  const Activations penultimate = engine->forward(params, batch, Latent::penultimate);
  EXPECT_EQ(penultimate.latents, (std::vector<float>{28.0F, 0.0F}));
  EXPECT_EQ(penultimate.logits, (std::vector<float>{30.0F}));
  EXPECT_EQ(penultimate.classes, 1);
}

struct Answer {
  std::vector<float> gradient;
  Activations activations;
};

Answer answer_of_new_engine(const ModelSpec& spec, const Batch& batch) {
  prepare_worker_thread(EngineKind::torch);
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(5));
  Answer answer;
  answer.gradient.resize(params.size());
  engine->gradient(params, batch, answer.gradient);
  answer.activations = engine->forward(params, batch, Latent::flatten);
  return answer;
}

TEST_F(TorchEngine, SameBatchGivesTheSameBitsOnEveryCallAndThread) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  for (const int size : {64, 24, 5}) {
    const Batch batch = random_batch(spec, size, 9);
    const Answer first = answer_of_new_engine(spec, batch);
    const Answer again = answer_of_new_engine(spec, batch);
    std::array<Answer, 2> threads;
    {
      std::jthread a([&] { threads[0] = answer_of_new_engine(spec, batch); });
      std::jthread b([&] { threads[1] = answer_of_new_engine(spec, batch); });
    }
    for (const Answer* other : std::initializer_list<const Answer*>{&again, &threads[0], &threads[1]}) {
      EXPECT_TRUE(same_bits(first.gradient, other->gradient)) << size;
      EXPECT_TRUE(same_bits(first.activations.logits, other->activations.logits)) << size;
      EXPECT_TRUE(same_bits(first.activations.latents, other->activations.latents)) << size;
    }
  }
}

TEST_F(TorchEngine, WrongInputIsAnErrorNotACrash) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Parameters params = initialise(spec, Rng(1));
  std::vector<float> gradient(params.size());

  Batch batch = random_batch(spec, 2, 1);
  batch.labels[0] = 3;
  expect_error(ErrorCode::invalid_data, "label", [&] { engine->gradient(params, batch, gradient); });
  batch = random_batch(spec, 2, 1);
  batch.shape.channels = 1;
  expect_error(ErrorCode::invalid_data, "2 x 9 x 8, got 1 x 9 x 8", [&] { engine->gradient(params, batch, gradient); });
  expect_error(ErrorCode::invalid_data, "2 x 9 x 8, got 1 x 9 x 8",
               [&] { return engine->forward(params, batch, Latent::flatten); });
  batch = random_batch(spec, 2, 1);
  batch.layout = BatchLayout::sample_innermost;
  expect_error(ErrorCode::internal, "layout", [&] { engine->gradient(params, batch, gradient); });
  batch = random_batch(spec, 2, 1);
  gradient.pop_back();
  expect_error(ErrorCode::internal, "gradient", [&] { engine->gradient(params, batch, gradient); });
  Parameters other = initialise(lenet5({1, 28, 28}, 10), Rng(1));
  expect_error(ErrorCode::invalid_data, "parameters, got 61706",
               [&] { return engine->forward(other, batch, Latent::flatten); });
}

TEST_F(TorchEngine, ReadsUnlabelledBatches) {
  const ModelSpec spec = tiny_spec();
  const auto engine = make_engine(EngineKind::torch, spec);
  Batch batch = random_batch(spec, 2, 1);
  batch.labels.clear();
  EXPECT_EQ(engine->forward(initialise(spec, Rng(1)), batch, Latent::flatten).logits.size(), 6U);
}

TEST(MakeEngine, SaysWhatIsMissingWhereTorchIsNotBuiltIn) {
  if (engine_available(EngineKind::torch)) {
    EXPECT_EQ(make_engine(EngineKind::torch, tiny_spec())->name(), "torch");
  } else {
    expect_error(ErrorCode::unsupported, "libtorch", [] { return make_engine(EngineKind::torch, tiny_spec()); });
  }
}

TEST(MakeEngine, RefusesAModelThatCannotBeLaidOut) {
  if (!engine_available(EngineKind::torch)) {
    GTEST_SKIP() << "this build has no libtorch: the torch engine is NOT tested";
  }
  ModelSpec spec = tiny_spec();
  spec.classes = 4;
  expect_error(ErrorCode::invalid_config, "must end in 4 logits", [&] { return make_engine(EngineKind::torch, spec); });
}

}  // namespace
}  // namespace feroma
