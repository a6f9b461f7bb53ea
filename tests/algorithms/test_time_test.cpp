#include "feroma/algorithms/test_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/drift/federation.h"
#include "tests/algorithms/slopes.h"
#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

class TestTime : public testing::Test {
 protected:
  TestTime()
      : federation(test::toy_dataset(), test::toy_scenario()),
        spec(test::toy_model(federation.shape(), federation.classes())),
        engine(spec),
        trainer(engine),
        data(federation.test(ClientId{0}, 0).data),
        model(share(initialise(spec, Rng(5)))) {}

  [[nodiscard]] Batch labelled(std::size_t count) const { return test::first_samples(data, count); }

  Federation federation;
  ModelSpec spec;
  test::ToyEngine engine;
  Trainer trainer;
  View data;
  ParametersPtr model;
};

TEST_F(TestTime, AStreamIsTheViewInPieces) {
  const std::vector<View> pieces = stream_of(data, 30);
  std::size_t samples = 0;
  for (const View& piece : pieces) {
    EXPECT_LE(piece.size(), 30U);
    EXPECT_EQ(piece.label(0), data.label(samples));
    samples += piece.size();
  }
  EXPECT_EQ(samples, data.size());
  EXPECT_EQ(pieces.size(), (data.size() + 29) / 30);
}

TEST_F(TestTime, TheDirectionDoesNotReadLabels) {
  Batch batch = labelled(20);
  const std::vector<float> direction = entropy_direction(trainer, *model, batch);
  std::fill(batch.labels.begin(), batch.labels.end(), 7);
  EXPECT_EQ(entropy_direction(trainer, *model, batch), direction);
  batch.labels.clear();
  EXPECT_EQ(entropy_direction(trainer, *model, batch), direction);
}

TEST_F(TestTime, EveryTensorMovesByItsOwnRate) {
  const std::vector<float> ones(model->size(), 1.0F);
  const Parameters moved = moved_along(*model, ones, Floats{0.5F, -2.0F});
  EXPECT_FLOAT_EQ(moved.segment(0)[3], model->segment(0)[3] - 0.5F);
  EXPECT_FLOAT_EQ(moved.segment(1)[0], model->segment(1)[0] + 2.0F);
  expect_error(ErrorCode::internal, "as many rates", [&] { return moved_along(*model, ones, Floats{0.5F}).size(); });
}

TEST_F(TestTime, GainsAreTheSlopesOfTheLossInTheRates) {
  const Batch batch = labelled(40);
  const std::vector<float> direction = entropy_direction(trainer, *model, batch);
  const Floats rates{0.8F, -0.4F};
  Parameters moved = moved_along(*model, direction, rates);
  std::vector<float> gradient(moved.size());
  trainer.gradient(moved, batch, gradient);
  const std::vector<double> gains = rate_gains(model->layout(), gradient, direction);
  for (std::size_t s = 0; s < 2; ++s) {
    const double slope = test::exact_slope(
        [&](double rate) {
          std::vector<double> there = test::doubles(model->values());
          for (std::size_t i = 0; i < there.size(); ++i) {
            const std::size_t tensor = i < model->segment(0).size() ? 0 : 1;
            there[i] -= (tensor == s ? rate : static_cast<double>(rates[tensor])) * static_cast<double>(direction[i]);
          }
          return test::exact_loss(there, batch);
        },
        static_cast<double>(rates[s]));
    const double size = std::sqrt(static_cast<double>(model->layout().segments[s].size));
    EXPECT_NEAR(gains[s] * size, -slope, 1e-4 * std::abs(slope) + 1e-9) << s;
  }
}

TEST_F(TestTime, RatesLearnToLowerTheLossOfTheAdaptedModel) {
  const Batch batch = labelled(40);
  Floats rates(2);
  const double first = learn_rates_(rates, trainer, *model, batch, 5);
  double last = first;
  for (int step = 0; step < 30; ++step) {
    last = learn_rates_(rates, trainer, *model, batch, 5);
  }
  EXPECT_LT(last, first - 1e-4);
  EXPECT_NE(rates[0], 0);
}

TEST_F(TestTime, ATensorWithoutDirectionKeepsItsRate) {
  // Blank inputs: the weights' gradient is zero, the offsets' is not.
  Batch batch = labelled(20);
  std::fill(batch.inputs.begin(), batch.inputs.end(), 0.0F);
  Floats rates{0.25F, 0.25F};
  learn_rates_(rates, trainer, *model, batch, 10);
  EXPECT_EQ(rates[0], 0.25F);
  EXPECT_NE(rates[1], 0.25F);
}

TEST_F(TestTime, ZeroRatesPredictLikeTheModelItself) {
  for (const AdaptMode mode : {AdaptMode::batch, AdaptMode::online}) {
    const auto adapting = make_entropy_predictor(model, {Floats{0, 0}, mode, 16});
    EXPECT_EQ(adapting->predict(trainer, data), make_single_model_predictor(model)->predict(trainer, data));
  }
  const ModelSpec lenet = lenet5({1, 28, 28}, 10);
  const auto native = make_engine(EngineKind::native, lenet);
  Trainer real(*native);
  Samples pictures;
  pictures.shape = {1, 28, 28};
  Rng rng(3);
  for (int i = 0; i < 40; ++i) {
    pictures.labels.push_back(0);
    for (int p = 0; p < 28 * 28; ++p) {
      pictures.pixels.push_back(static_cast<std::uint8_t>(rng.below(256)));
    }
  }
  const std::vector<Recipe> recipes{{std::vector<Transform>(10), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}}};
  View view{&pictures, recipes, pictures.shape, {}};
  for (std::uint32_t i = 0; i < 40; ++i) {
    view.items.push_back({i, 0});
  }
  const ParametersPtr start = share(initialise(lenet, Rng(1)));
  const auto still = make_entropy_predictor(start, {Floats(10), AdaptMode::online, 17});
  EXPECT_EQ(still->predict(real, view), real.probabilities(*start, view));
  const auto moving = make_entropy_predictor(start, {Floats(10, 0.1F), AdaptMode::online, 17});
  EXPECT_NE(moving->predict(real, view), real.probabilities(*start, view));
}

TEST_F(TestTime, BatchesAreForgottenOrAveraged) {
  const Floats rates{3, 1};
  const int size = 16;
  const std::vector<View> pieces = stream_of(data, size);
  ASSERT_GE(pieces.size(), 2U);
  std::vector<Parameters> adapted;
  for (const View& piece : pieces) {
    adapted.push_back(moved_along(*model, entropy_direction(trainer, *model, unlabelled_batch(trainer, piece)), rates));
  }
  const std::vector<float> batch =
      make_entropy_predictor(model, {rates, AdaptMode::batch, size})->predict(trainer, data);
  const std::vector<float> online =
      make_entropy_predictor(model, {rates, AdaptMode::online, size})->predict(trainer, data);
  const auto row = [](const std::vector<float>& all, std::size_t sample) {
    return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(sample * 10),
                              all.begin() + static_cast<std::ptrdiff_t>(sample * 10 + 10));
  };
  EXPECT_EQ(row(batch, 3), row(online, 3)) << "the first batch has no past";
  EXPECT_EQ(row(batch, size), row(trainer.probabilities(adapted[1], pieces[1]), 0));
  Parameters mean = adapted[0].clone();
  for (std::size_t i = 0; i < mean.size(); ++i) {
    mean.values()[i] = (adapted[0].values()[i] + adapted[1].values()[i]) / 2;
  }
  const std::vector<float> expected = row(trainer.probabilities(mean, pieces[1]), 0);
  for (std::size_t u = 0; u < 10; ++u) {
    EXPECT_NEAR(row(online, size)[u], expected[u], 1e-6);
  }
  EXPECT_NE(row(online, size), row(batch, size));
}

TEST_F(TestTime, AdaptationLowersTheEntropyOfWhatItPredicts) {
  const auto entropy = [&](const std::vector<float>& all) {
    double sum = 0;
    for (const float p : all) {
      sum -= p > 0 ? static_cast<double>(p) * std::log(static_cast<double>(p)) : 0;
    }
    return sum;
  };
  const auto adapting = make_entropy_predictor(model, {Floats{0.5F, 0.5F}, AdaptMode::batch, 64});
  EXPECT_LT(entropy(adapting->predict(trainer, data)), entropy(trainer.probabilities(*model, data)));
}

TEST_F(TestTime, ItsModelKeepsItsOrigin) {
  const ModelShares sources{{{ClientId{4}, 2}, 1.0}};
  EXPECT_EQ(make_entropy_predictor(model, {Floats(2), AdaptMode::batch, 64}, sources)->sources(), sources);
}

class TestTimeNorm : public testing::Test {
 protected:
  TestTimeNorm()
      : federation(test::toy_dataset(), test::toy_scenario()),
        spec{
            "norm", federation.shape(), 10, {Conv2d{"a", 3, 3, 1}, BatchNorm{"b"}, Relu{}, Flatten{}, Linear{"c", 10}}},
        engine(make_engine(EngineKind::native, spec)),
        trainer(*engine),
        data(federation.test(ClientId{0}, 0).data),
        model(share(initialise(spec, Rng(5)))),
        batch(test::first_samples(data, 40, engine->layout())) {}
  [[nodiscard]] std::size_t tensor(const std::string& name) const {
    const std::vector<Segment>& segments = model->layout().segments;
    return static_cast<std::size_t>(
        std::find_if(segments.begin(), segments.end(), [&](const Segment& s) { return s.name == name; }) -
        segments.begin());
  }
  [[nodiscard]] std::size_t offset(const std::string& name) const {
    return model->layout().segments[tensor(name)].offset;
  }

  Federation federation;
  ModelSpec spec;
  std::unique_ptr<Engine> engine;
  Trainer trainer;
  View data;
  ParametersPtr model;
  Batch batch;
};

TEST_F(TestTimeNorm, AFullStepTakesRunningStatisticsToTheBatchs) {
  const Parameters measured = trainer.with_batch_statistics(*model, batch);
  const std::vector<float> direction = entropy_direction(trainer, *model, batch);
  Floats rates(model->layout().segments.size());
  rates[tensor("b.running_mean")] = 1;
  rates[tensor("b.running_var")] = 1;
  const Parameters moved = moved_along(*model, direction, rates);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    EXPECT_NEAR(moved.values()[i], measured.values()[i], 1e-6);
  }
  EXPECT_GT(std::abs(direction[offset("b.running_mean")]), 1e-3);
  EXPECT_EQ(direction[offset("b.num_batches_tracked")], 0);
}

TEST_F(TestTimeNorm, VariancesStayAboveZero) {
  std::vector<float> direction(model->size());
  direction[offset("b.running_var")] = 5;
  direction[offset("b.running_mean")] = 5;
  const Parameters moved = moved_along(*model, direction, Floats(model->layout().segments.size(), 1.0F));
  EXPECT_EQ(moved.values()[offset("b.running_var")], 0);
  EXPECT_EQ(moved.values()[offset("b.running_mean")], model->values()[offset("b.running_mean")] - 5);
}

TEST_F(TestTimeNorm, TheEntropysGradientIsThatOfAnEvaluation) {
  const std::vector<float> direction = entropy_direction(trainer, *model, batch);
  const auto entropy = [&](float change) {
    Parameters moved = model->clone();
    moved.values()[offset("b.weight")] += change;
    double sum = 0;
    const View first = stream_of(data, 40).front();
    for (const float p : trainer.probabilities(moved, first)) {
      sum -= static_cast<double>(p) * std::log(static_cast<double>(p));
    }
    return sum / 40;
  };
  EXPECT_NEAR(direction[offset("b.weight")], (entropy(0.05F) - entropy(-0.05F)) / 0.1, 2e-4);
}

TEST_F(TestTimeNorm, GainsAreTheSlopesOfTheLossInTheRates) {
  const std::vector<float> direction = entropy_direction(trainer, *model, batch);
  Floats rates(model->layout().segments.size(), 0.1F);
  Objective objective;
  objective.statistics = Statistics::running;
  std::vector<float> gradient(model->size());
  const auto loss = [&](const Floats& used) {
    Parameters moved = moved_along(*model, direction, used);
    return trainer.gradient(moved, batch, objective, gradient);
  };
  loss(rates);
  const std::vector<double> gains = rate_gains(model->layout(), gradient, direction);
  for (const std::string name : {"b.weight", "b.running_mean", "b.running_var"}) {
    const std::size_t s = tensor(name);
    constexpr float kStep = 0.01F;  // wider ones step over the ReLU's bends
    Floats more = rates;
    Floats less = rates;
    more[s] += kStep;
    less[s] -= kStep;
    const double slope = (loss(more) - loss(less)) / (2 * static_cast<double>(kStep));
    const double size = std::sqrt(static_cast<double>(model->layout().segments[s].size));
    EXPECT_NEAR(gains[s] * size, -slope, 0.03 * std::abs(slope) + 2e-5) << name;
  }
}

}  // namespace
}  // namespace feroma
