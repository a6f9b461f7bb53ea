#include <gtest/gtest.h>

#include "feroma/client/trainer.h"
#include "tests/golden_support.h"

namespace feroma {
namespace {

class LeNet5Golden : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    if (!engine_available(GetParam())) {
      GTEST_SKIP() << "this build has no libtorch: its engine is NOT compared with the reference";
    }
    engine_ = make_engine(GetParam(), spec_);
  }

  const ModelSpec spec_ = lenet5({3, 28, 28}, 10);
  std::unique_ptr<Engine> engine_;
};

TEST_P(LeNet5Golden, LogitsAgreeWithTheReference) {
  const Parameters params = formula_parameters(spec_);
  std::vector<float> logits;
  const View view = golden_batch_view();
  for (std::uint32_t start = 0; start < 600; start += 100) {
    std::vector<std::uint32_t> items;
    for (std::uint32_t i = start; i < start + 100; ++i) {
      items.push_back(i);
    }
    const Batch batch = assemble(view, items, engine_->layout());
    const Activations out = engine_->forward(params, batch, Latent::flatten);
    logits.insert(logits.end(), out.logits.begin(), out.logits.end());
  }
  // Logits are about 0.1; sums of up to 400 float32 products in another order differ by about 1e-7.
  EXPECT_LT(largest_difference(logits, golden_floats("lenet5_logits")), 1e-6);
}

TEST_P(LeNet5Golden, LatentsAgreeWithTheReference) {
  Trainer trainer(*engine_);
  View view = golden_batch_view();
  view.items.resize(64);
  std::vector<float> latents;
  trainer.latents(formula_parameters(spec_), view, Latent::flatten,
                  [&](std::span<const float> rows, int width, const Batch& batch) {
                    EXPECT_EQ(width, 400);
                    EXPECT_EQ(batch.labels.size(), 64U);
                    latents.insert(latents.end(), rows.begin(), rows.end());
                  });
  // Latents are below 0.4; two convolutions of at most 150 products each differ by about 6e-8.
  EXPECT_LT(largest_difference(latents, golden_floats("lenet5_latent_first64")), 5e-7);
}

double distance_after_training(Engine& engine, const ModelSpec& spec, MomentumReset reset, const std::string& golden) {
  Trainer trainer(engine);
  Parameters params = formula_parameters(spec);
  FitOptions options;
  options.momentum_reset = reset;
  trainer.fit_in_order(params, golden_batch_view(), options);
  return largest_difference(params.values(), golden_floats(golden));
}

// Parameters move by up to 0.01 in the 20 steps. Gradients that differ by one float32 rounding end about 1e-8 apart;
// another order of summation may cost ten times that. The two reset rules end 0.004 apart.
constexpr double kTrainedTolerance = 2e-7;

TEST_P(LeNet5Golden, TrainingWithMomentumResetPerEpochAgreesWithTheReference) {
  EXPECT_LT(distance_after_training(*engine_, spec_, MomentumReset::epoch, "lenet5_trained_reset_per_epoch"),
            kTrainedTolerance);
}

TEST_P(LeNet5Golden, TrainingWithMomentumResetPerRoundAgreesWithTheReference) {
  EXPECT_LT(distance_after_training(*engine_, spec_, MomentumReset::round, "lenet5_trained_reset_per_round"),
            kTrainedTolerance);
}

TEST_P(LeNet5Golden, TellsTheTwoResetRulesApart) {
  EXPECT_GT(distance_after_training(*engine_, spec_, MomentumReset::epoch, "lenet5_trained_reset_per_round"), 0.003);
}

INSTANTIATE_TEST_SUITE_P(Engines, LeNet5Golden, testing::Values(EngineKind::native, EngineKind::torch),
                         [](const auto& kind) { return kind.param == EngineKind::native ? "native" : "torch"; });

}  // namespace
}  // namespace feroma
