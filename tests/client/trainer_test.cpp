#include "feroma/client/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tests/expect_error.h"

namespace feroma {
namespace {

/// Notes what it is given. The gradient is 1 everywhere, the loss the batch's smallest sample number.
class RecordingEngine final : public Engine {
 public:
  std::string_view name() const override { return "recording"; }
  BatchLayout layout() const override { return BatchLayout::sample_major; }

  using Engine::gradient;
  double gradient(Parameters&, const Batch& batch, const Objective& objective, std::span<float> gradient) override {
    loss = objective.loss;
    batches.push_back(numbers(batch));
    weights.push_back(batch.weights);
    std::fill(gradient.begin(), gradient.end(), 1.0F);
    if (static_cast<int>(batches.size()) == fail_at) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    if (objective.latent_loss) {
      const std::vector<float> latents(batches.back().begin(), batches.back().end());
      std::vector<float> slope(latents.size());
      return objective.latent_loss(latents, slope);
    }
    return *std::min_element(batches.back().begin(), batches.back().end());
  }

  /// Class 0 has the logit of the sample's number, class 1 that of 100.
  Activations forward(const Parameters&, const Batch& batch, Latent) override {
    batches.push_back(numbers(batch));
    labelled = !batch.labels.empty();
    Activations out;
    out.size = batch.size;
    out.classes = 2;
    out.latent_size = 1;
    for (const int number : batches.back()) {
      out.logits.insert(out.logits.end(), {static_cast<float>(number), 100.0F});
      out.latents.push_back(static_cast<float>(number));
    }
    return out;
  }

  std::vector<std::vector<int>> batches;
  std::vector<std::vector<float>> weights;
  int fail_at = 0;
  Loss loss = Loss::cross_entropy;
  bool labelled = false;

 private:
  static std::vector<int> numbers(const Batch& batch) {
    std::vector<int> all;
    for (const float value : batch.inputs) {
      all.push_back(static_cast<int>(std::lround(value * 255.0F)));
    }
    return all;
  }
};

/// Sample i is the byte i mod 256 with label 0.
class TrainerTest : public testing::Test {
 protected:
  View view_of(std::size_t size) {
    samples_.shape = {1, 1, 1};
    samples_.pixels.resize(size);
    samples_.labels.assign(size, 0);
    std::iota(samples_.pixels.begin(), samples_.pixels.end(), std::uint8_t{0});
    View view{&samples_, recipes_, {1, 1, 1}, {}};
    for (std::uint32_t i = 0; i < size; ++i) {
      view.items.push_back({i, 0});
    }
    return view;
  }

  static Parameters two_parameters() {
    auto layout = std::make_shared<ParamLayout>();
    layout->add("w", SegmentKind::weight, {2});
    return Parameters(layout);
  }

  Samples samples_;
  std::vector<Recipe> recipes_{{{Transform{}, Transform{}}, {0, 1}}};
  RecordingEngine engine_;
  Trainer trainer_{engine_};
  FitOptions options_{.local_epochs = 1, .batch_size = 4, .learning_rate = 0.5, .momentum = 0.5};
};

TEST(SgdStep, KeepsVelocityAndMovesAgainstIt) {
  std::vector<float> params{1.0F, 2.0F};
  std::vector<float> velocity{4.0F, 0.0F};
  sgd_step(params, velocity, std::vector<float>{1.0F, -2.0F}, 0.5, 0.25);
  EXPECT_EQ(velocity, (std::vector<float>{2.0F, -2.0F}));
  EXPECT_EQ(params, (std::vector<float>{0.0F, 3.0F}));
}

TEST(SgdStep, RefusesDifferentLengths) {
  std::vector<float> two(2);
  std::vector<float> one(1);
  expect_error(ErrorCode::internal, "2 parameters", [&] { sgd_step(two, one, two, 0.1, 0.9); });
  expect_error(ErrorCode::internal, "2 parameters", [&] { sgd_step(two, two, one, 0.1, 0.9); });
}

TEST_F(TrainerTest, KeepsThePartialLastBatch) {
  Parameters params = two_parameters();
  trainer_.fit_in_order(params, view_of(6), options_);
  EXPECT_EQ(engine_.batches, (std::vector<std::vector<int>>{{0, 1, 2, 3}, {4, 5}}));
}

TEST_F(TrainerTest, ReturnsTheLossMeanOverSamplesNotOverBatches) {
  Parameters params = two_parameters();
  options_.local_epochs = 2;
  // Batch losses 0 (4 samples) and 4 (2 samples), twice.
  EXPECT_DOUBLE_EQ(trainer_.fit_in_order(params, view_of(6), options_), (0 * 4 + 4 * 2) / 6.0);
}

TEST_F(TrainerTest, VisitsEverySampleOncePerEpochInAnotherOrderEachEpoch) {
  Parameters params = two_parameters();
  options_.local_epochs = 2;
  options_.batch_size = 64;
  trainer_.fit(params, view_of(50), options_, Rng(1));
  ASSERT_EQ(engine_.batches.size(), 2U);
  EXPECT_NE(engine_.batches[0], engine_.batches[1]);
  for (std::vector<int> epoch : engine_.batches) {
    EXPECT_FALSE(std::is_sorted(epoch.begin(), epoch.end()));
    std::sort(epoch.begin(), epoch.end());
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(epoch[static_cast<std::size_t>(i)], i);
    }
  }
}

TEST_F(TrainerTest, ShufflesByTheGivenStreamAlone) {
  Parameters params = two_parameters();
  const View view = view_of(50);
  for (const std::uint64_t seed : {1U, 1U, 2U}) {
    trainer_.fit(params, view, {.local_epochs = 1, .batch_size = 64}, Rng(seed));
  }
  EXPECT_EQ(engine_.batches[0], engine_.batches[1]);
  EXPECT_NE(engine_.batches[0], engine_.batches[2]);
}

TEST_F(TrainerTest, MomentumCrossesEpochsUnlessResetPerEpoch) {
  // Gradient 1, rate 0.5, momentum 0.5, one step per epoch: velocities 1 and 1.5, or 1 and 1.
  options_.local_epochs = 2;
  Parameters kept = two_parameters();
  trainer_.fit_in_order(kept, view_of(4), options_);
  EXPECT_EQ(kept.values()[0], -1.25F);
  options_.momentum_reset = MomentumReset::epoch;
  Parameters reset = two_parameters();
  trainer_.fit_in_order(reset, view_of(4), options_);
  EXPECT_EQ(reset.values()[0], -1.0F);
}

TEST_F(TrainerTest, MomentumDoesNotCrossRounds) {
  Parameters params = two_parameters();
  trainer_.fit_in_order(params, view_of(4), options_);
  trainer_.fit_in_order(params, view_of(4), options_);
  EXPECT_EQ(params.values()[1], -1.0F);
}

TEST_F(TrainerTest, MomentumCrossesRoundsWhereTheCallerKeepsIt) {
  Parameters params = two_parameters();
  std::vector<float> velocity(2);
  FitHooks hooks;
  hooks.velocity = velocity;
  trainer_.fit(params, view_of(4), options_, Rng(1), hooks);
  trainer_.fit(params, view_of(4), options_, Rng(2), hooks);
  EXPECT_EQ(params.values()[0], -1.25F);  // velocities 1 and 1.5, as over two epochs
  EXPECT_EQ(velocity[0], 1.5F);
  std::vector<float> other(3);
  hooks.velocity = other;
  expect_error(ErrorCode::internal, "2 parameters need as many values of momentum or none, got 3",
               [&] { return trainer_.fit(params, view_of(4), options_, Rng(1), hooks); });
}

TEST_F(TrainerTest, WeightsFollowTheirSamplesThroughTheShuffle) {
  Parameters params = two_parameters();
  const std::vector<float> weights{10, 11, 12, 13, 14, 15};
  FitHooks hooks;
  hooks.sample_weights = weights;
  trainer_.fit(params, view_of(6), options_, Rng(3), hooks);
  ASSERT_EQ(engine_.weights.size(), 2U);
  for (std::size_t b = 0; b < 2; ++b) {
    ASSERT_EQ(engine_.weights[b].size(), engine_.batches[b].size());
    for (std::size_t i = 0; i < engine_.batches[b].size(); ++i) {
      EXPECT_EQ(engine_.weights[b][i], static_cast<float>(10 + engine_.batches[b][i]));
    }
  }
}

TEST_F(TrainerTest, RefusesAWrongNumberOfWeights) {
  Parameters params = two_parameters();
  const std::vector<float> weights(5);
  FitHooks hooks;
  hooks.sample_weights = weights;
  expect_error(ErrorCode::internal, "6 samples need as many weights or none, got 5",
               [&] { trainer_.fit(params, view_of(6), options_, Rng(3), hooks); });
}

TEST_F(TrainerTest, ModelsTrainedTogetherEndWhereEachWouldAlone) {
  // Parameter 0 is pulled to the model's own target, so the models part ways; the weights belong to the second.
  const std::vector<float> weights{10, 11, 12, 13, 14, 15};
  FitHooks plain;
  plain.edit_gradient = [](std::span<const float> now, std::span<float> gradient) { gradient[0] = now[0] - 3.0F; };
  FitHooks weighted;
  weighted.sample_weights = weights;
  options_.local_epochs = 3;
  for (const MomentumReset reset : {MomentumReset::epoch, MomentumReset::round}) {
    options_.momentum_reset = reset;
    Parameters alone_plain = two_parameters();
    Parameters alone_weighted = two_parameters();
    const double plain_loss = trainer_.fit(alone_plain, view_of(6), options_, Rng(3), plain);
    const auto batches = std::exchange(engine_.batches, {});
    engine_.weights.clear();
    const double weighted_loss = trainer_.fit(alone_weighted, view_of(6), options_, Rng(3), weighted);
    const auto batch_weights = std::exchange(engine_.weights, {});
    engine_.batches.clear();
    Parameters first = two_parameters();
    Parameters second = two_parameters();
    const std::vector<Learner> learners{{first, plain}, {second, weighted}};
    const std::vector<double> losses = trainer_.fit_together(learners, view_of(6), options_, Rng(3));
    EXPECT_EQ(losses, (std::vector<double>{plain_loss, weighted_loss}));
    EXPECT_TRUE(std::ranges::equal(first.values(), alone_plain.values()));
    EXPECT_TRUE(std::ranges::equal(second.values(), alone_weighted.values()));
    ASSERT_EQ(engine_.batches.size(), 2 * batches.size());
    for (std::size_t b = 0; b < batches.size(); ++b) {
      EXPECT_EQ(engine_.batches[2 * b], batches[b]);
      EXPECT_EQ(engine_.batches[2 * b + 1], batches[b]);
      EXPECT_TRUE(engine_.weights[2 * b].empty());
      EXPECT_EQ(engine_.weights[2 * b + 1], batch_weights[b]);
    }
    engine_.batches.clear();
    engine_.weights.clear();
  }
}

TEST_F(TrainerTest, TrainingTogetherCountsThePassesOfEveryModel) {
  Parameters first = two_parameters();
  Parameters second = two_parameters();
  const std::vector<Learner> learners{{first}, {second}};
  static_cast<void>(trainer_.fit_together(learners, view_of(6), options_, Rng(3)));
  EXPECT_EQ(trainer_.passes().forward, 12);
  EXPECT_EQ(trainer_.passes().backward, 12);
  EXPECT_TRUE(trainer_.fit_together({}, view_of(6), options_, Rng(3)).empty());
}

TEST_F(TrainerTest, LossesOfSeveralModelsAreThoseOfEach) {
  const std::vector<ParametersPtr> models{share(two_parameters()), share(two_parameters())};
  const View view = view_of(300);
  const auto together = trainer_.losses(models, view);
  ASSERT_EQ(together.size(), 2U);
  // Both models see a batch before the next one is put together.
  ASSERT_EQ(engine_.batches.size(), 4U);
  EXPECT_EQ(engine_.batches[0], engine_.batches[1]);
  EXPECT_NE(engine_.batches[1], engine_.batches[2]);
  EXPECT_EQ(trainer_.passes().forward, 600);
  EXPECT_EQ(together[0], trainer_.losses(*models[0], view));
  EXPECT_EQ(together[1], together[0]);
}

TEST_F(TrainerTest, ScoresOfSeveralModelsAreThoseOfEach) {
  Parameters other = two_parameters();
  other.values()[0] = 3;
  const std::vector<ParametersPtr> models{share(two_parameters()), share(std::move(other))};
  const View view = view_of(300);
  const auto together = trainer_.evaluate(models, view);
  ASSERT_EQ(together.size(), 2U);
  // Both models see a batch before the next one is put together.
  ASSERT_EQ(engine_.batches.size(), 4U);
  EXPECT_EQ(engine_.batches[0], engine_.batches[1]);
  EXPECT_NE(engine_.batches[1], engine_.batches[2]);
  EXPECT_EQ(trainer_.passes().forward, 600);
  for (std::size_t m = 0; m < 2; ++m) {
    const Tally alone = trainer_.evaluate(*models[m], view);
    EXPECT_EQ(together[m].count, alone.count);
    EXPECT_EQ(together[m].correct, alone.correct);
    EXPECT_EQ(together[m].loss_sum, alone.loss_sum);
  }
}

TEST_F(TrainerTest, EditGradientSeesTheParametersAndChangesTheStep) {
  Parameters params = two_parameters();
  params.values()[0] = 8.0F;
  FitHooks hooks;
  hooks.edit_gradient = [](std::span<const float> current, std::span<float> gradient) { gradient[0] += current[0]; };
  trainer_.fit(params, view_of(4), options_, Rng(3), hooks);
  EXPECT_EQ(params.values()[0], 8.0F - 0.5F * 9.0F);
  EXPECT_EQ(params.values()[1], -0.5F);
}

TEST_F(TrainerTest, ALatentLossIsToldTheBatchWhoseLatentsItReads) {
  Parameters params = two_parameters();
  FitHooks hooks;
  std::vector<int> sizes;
  hooks.latent_loss = [&](const Batch& batch, std::span<const float> latents, std::span<float> gradient) {
    sizes.push_back(batch.size);
    EXPECT_EQ(latents.size(), static_cast<std::size_t>(batch.size));
    EXPECT_EQ(gradient.size(), latents.size());
    EXPECT_EQ(std::lround(batch.inputs[0] * 255.0F), std::lround(latents[0]));
    return 5.0;
  };
  EXPECT_EQ(trainer_.fit(params, view_of(6), options_, Rng(3), hooks), 5.0);
  EXPECT_EQ(sizes, (std::vector{4, 2}));
}

TEST_F(TrainerTest, ALossThatIsNotFiniteNamesTheStep) {
  Parameters params = two_parameters();
  options_.local_epochs = 2;
  engine_.fail_at = 4;
  expect_error(ErrorCode::invalid_data, "got nan at step 2 of epoch 2",
               [&] { trainer_.fit_in_order(params, view_of(6), options_); });
}

TEST_F(TrainerTest, NoEpochsOrNoDataLeaveTheModelAsItIs) {
  Parameters params = two_parameters();
  params.values()[0] = 3.0F;
  EXPECT_EQ(trainer_.fit(params, view_of(0), options_, Rng(1)), 0.0);
  options_.local_epochs = 0;
  EXPECT_EQ(trainer_.fit(params, view_of(4), options_, Rng(1)), 0.0);
  EXPECT_EQ(params.values()[0], 3.0F);
  EXPECT_TRUE(engine_.batches.empty());
}

TEST_F(TrainerTest, RefusesImpossibleOptions) {
  Parameters params = two_parameters();
  options_.batch_size = 0;
  expect_error(ErrorCode::invalid_config, "batch_size must be >= 1, got 0",
               [&] { trainer_.fit(params, view_of(4), options_, Rng(1)); });
  options_ = {.local_epochs = -1};
  expect_error(ErrorCode::invalid_config, "local_epochs must be >= 0, got -1",
               [&] { trainer_.fit(params, view_of(4), options_, Rng(1)); });
}

TEST_F(TrainerTest, EvaluateCountsEverySampleOnce) {
  // The bytes are 0..255 and 0..43; class 0, the label of all, wins from 100 on.
  const Tally tally = trainer_.evaluate(two_parameters(), view_of(300));
  EXPECT_EQ(tally.count, 300);
  EXPECT_EQ(tally.correct, 156);
  EXPECT_EQ(engine_.batches.size(), 2U);
}

TEST_F(TrainerTest, EvaluateOfNothingIsEmpty) {
  EXPECT_EQ(trainer_.evaluate(two_parameters(), view_of(0)).count, 0);
  EXPECT_TRUE(engine_.batches.empty());
}

TEST_F(TrainerTest, LatentsComeInOrder) {
  std::vector<float> seen;
  std::size_t labels_seen = 0;
  trainer_.latents(two_parameters(), view_of(300), Latent::flatten,
                   [&](std::span<const float> rows, int width, const Batch& batch) {
                     EXPECT_EQ(width, 1);
                     seen.insert(seen.end(), rows.begin(), rows.end());
                     labels_seen += batch.labels.size();
                   });
  ASSERT_EQ(seen.size(), 300U);
  EXPECT_EQ(labels_seen, 300U);
  EXPECT_EQ(seen[299], 43.0F);
}

TEST_F(TrainerTest, ProbabilitiesSumToOneAndNeverSeeLabels) {
  const std::vector<float> probabilities = trainer_.probabilities(two_parameters(), view_of(300));
  ASSERT_EQ(probabilities.size(), 600U);
  EXPECT_FALSE(engine_.labelled);
  EXPECT_EQ(probabilities[200], 0.5F);  // logits 100 and 100
  EXPECT_NEAR(probabilities[2 * 101], 1.0 / (1.0 + std::exp(-1.0)), 1e-7);
  EXPECT_EQ(probabilities[1], 1.0F);  // logits 0 and 100
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_NEAR(probabilities[2 * i] + probabilities[2 * i + 1], 1.0F, 1e-6F);
  }
}

/// Two classes; the engine ranks the first by the sample's number and gives the second one score.
TEST_F(TrainerTest, MultiLabelDataTrainOnTargetsAndAreScoredByRank) {
  View view = view_of(4);
  EXPECT_FALSE(trainer_.evaluate(two_parameters(), view).auroc);
  samples_.targets = {0, 1, 1, 0, 0, 1, 1, 0};
  Parameters params = two_parameters();
  trainer_.fit(params, view, FitOptions{}, Rng(1));
  EXPECT_EQ(engine_.loss, Loss::binary_cross_entropy);
  const Tally tally = trainer_.evaluate(params, view);
  EXPECT_EQ(tally.count, 4);
  ASSERT_TRUE(tally.auroc);
  EXPECT_NEAR(*tally.auroc, 100.0 * (0.75 + 0.5) / 2, 1e-9);
  const std::vector<float> probabilities = trainer_.probabilities(params, view);
  EXPECT_FLOAT_EQ(probabilities[0], 0.5F);
  EXPECT_FLOAT_EQ(probabilities[2], static_cast<float>(1 / (1 + std::exp(-1.0))));
}

}  // namespace
}  // namespace feroma
