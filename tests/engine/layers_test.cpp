// Every layer and loss of the engines against plain loops, and those against finite differences.
#include <gtest/gtest.h>

#include <set>
#include <variant>

#include "feroma/engine/engine.h"
#include "tests/engine/engine_support.h"
#include "tests/engine/layer_specs.h"
#include "tests/engine/reference_network.h"

namespace feroma {
namespace {

template <class T>
std::vector<T> as(std::span<const float> values) {
  return {values.begin(), values.end()};
}

/// The models of the paper on pictures as small as they take.
std::vector<ModelSpec> tiny_models() {
  return {lenet5({1, 12, 12}, 3), make_model("mlp", {1, 3, 3}, 3), make_model("har-cnn", {2, 1, 16}, 3)};
}

TEST(LayerSpecs, UseEveryKindOfLayer) {
  std::set<std::size_t> kinds;
  for (const ModelSpec& spec : layer_specs()) {
    for (const Layer& layer : spec.layers) {
      kinds.insert(layer.index());
    }
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Layer>) << "a new kind of layer needs a model here";
}

TEST(ReferenceNetwork, GradientAgreesWithFiniteDifferencesInDouble) {
  std::vector<ModelSpec> specs = layer_specs();
  for (ModelSpec& model : tiny_models()) {
    specs.push_back(std::move(model));
  }
  for (const ModelSpec& spec : specs) {
    for (const Loss loss : kLosses) {
      const Batch batch = full_batch(spec, 5, 2);
      const Objective objective{loss, {}, {}};
      const std::vector<double> params = as<double>(lively(spec, 1).values());
      const auto outcome = ReferenceNetwork<double>(spec, params).gradient(batch, objective);
      const auto layout = make_layout(spec);
      for (const Segment& segment : layout->segments) {
        // Two or three of each tensor; buffers have no gradient in training.
        for (std::size_t i = segment.offset; i < segment.offset + segment.size; i += 1 + segment.size / 2) {
          std::vector<double> moved = params;
          constexpr double kStep = 1e-6;
          moved[i] += kStep;
          const double above = ReferenceNetwork<double>(spec, moved).gradient(batch, objective).loss;
          moved[i] -= 2 * kStep;
          const double below = ReferenceNetwork<double>(spec, moved).gradient(batch, objective).loss;
          EXPECT_NEAR(outcome.gradient[i], (above - below) / (2 * kStep), 2e-8)
              << spec.name << " " << segment.name << " loss " << static_cast<int>(loss);
        }
      }
    }
  }
}

TEST(ReferenceNetwork, FloatAgreesWithDouble) {
  for (const ModelSpec& spec : layer_specs()) {
    const Batch batch = full_batch(spec, 9, 3);
    const Parameters params = lively(spec, 1);
    const auto single = ReferenceNetwork<float>(spec, as<float>(params.values())).gradient(batch, {});
    const auto twice = ReferenceNetwork<double>(spec, as<double>(params.values())).gradient(batch, {});
    EXPECT_LT(relative_error(single.gradient, twice.gradient), 1e-5) << spec.name;
  }
}

class Layers : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    if (!engine_available(GetParam())) {
      GTEST_SKIP() << "this build has no libtorch: its layers are NOT compared with plain loops";
    }
  }
};

TEST_P(Layers, GradientLossAndBuffersAgreeWithPlainLoops) {
  for (const ModelSpec& spec : layer_specs()) {
    const auto engine = make_engine(GetParam(), spec);
    for (const int size : {2, 16, 21, 70}) {
      for (const Loss loss : kLosses) {
        const Batch batch = full_batch(spec, size, 4);
        Parameters params = lively(spec, 5);
        const auto expected =
            ReferenceNetwork<double>(spec, as<double>(params.values())).gradient(batch, {loss, {}, {}});
        std::vector<float> gradient(params.size());
        const double value =
            engine->gradient(params, laid_out(batch, engine->layout()), Objective{loss, {}, {}}, gradient);
        const std::string what = spec.name + " size " + std::to_string(size) + " loss " + std::to_string(int(loss));
        EXPECT_NEAR(value, expected.loss, 2e-6) << what;
        EXPECT_LT(relative_error(gradient, expected.gradient), 1e-5) << what;
        EXPECT_LT(relative_error(params.values(), expected.buffers), 1e-6) << what;
      }
    }
  }
}

TEST_P(Layers, EvaluationUsesTheRunningStatistics) {
  for (const ModelSpec& spec : layer_specs()) {
    const auto engine = make_engine(GetParam(), spec);
    const Batch batch = full_batch(spec, 70, 6);
    const Parameters params = lively(spec, 5);
    const auto expected = ReferenceNetwork<double>(spec, as<double>(params.values())).logits(batch, false);
    const Latent latent = find_latent_layer(spec, Latent::penultimate) ? Latent::penultimate : Latent::flatten;
    const Activations out = engine->forward(params, laid_out(batch, engine->layout()), latent);
    EXPECT_LT(relative_error(out.logits, expected), 1e-5) << spec.name;
  }
}

/// The mean cross-entropy of an eval-mode pass in double.
double evaluated_loss(const ModelSpec& spec, const std::vector<double>& params, const Batch& batch) {
  const std::vector<double> logits = ReferenceNetwork<double>(spec, params).logits(batch, false);
  const auto classes = static_cast<std::size_t>(spec.classes);
  double loss = 0;
  for (std::size_t i = 0; i < batch.labels.size(); ++i) {
    double sum = 0;
    for (std::size_t u = 0; u < classes; ++u) {
      sum += std::exp(logits[i * classes + u]);
    }
    loss += std::log(sum) - logits[i * classes + static_cast<std::size_t>(batch.labels[i])];
  }
  return loss / batch.size;
}

TEST_P(Layers, TheGradientOfAnEvaluationReachesTheRunningStatistics) {
  Objective objective;
  objective.statistics = Statistics::running;
  for (const ModelSpec& spec : layer_specs()) {
    const auto engine = make_engine(GetParam(), spec);
    const Batch batch = full_batch(spec, 19, 6);
    Parameters params = lively(spec, 5);
    const std::vector<double> start = as<double>(params.values());
    std::vector<float> gradient(params.size());
    const double loss = engine->gradient(params, laid_out(batch, engine->layout()), objective, gradient);
    const std::vector<Segment>& segments = params.layout().segments;
    if (std::none_of(segments.begin(), segments.end(),
                     [](const Segment& s) { return s.kind == SegmentKind::buffer; })) {
      std::vector<float> trained(params.size());
      EXPECT_EQ(engine->gradient(params, laid_out(batch, engine->layout()), trained), loss) << spec.name;
      EXPECT_EQ(gradient, trained) << spec.name << ": without statistics both modes are the same";
      continue;
    }
    EXPECT_NEAR(loss, evaluated_loss(spec, start, batch), 2e-6) << spec.name;
    EXPECT_EQ(as<double>(params.values()), start) << spec.name << ": an evaluation changes nothing";
    for (const Segment& segment : segments) {
      for (std::size_t i = segment.offset; i < segment.offset + segment.size; i += 1 + segment.size / 2) {
        std::vector<double> moved = start;
        constexpr double kStep = 1e-6;
        moved[i] += kStep;
        const double above = evaluated_loss(spec, moved, batch);
        moved[i] -= 2 * kStep;
        const double below = evaluated_loss(spec, moved, batch);
        EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-6) << spec.name << " " << segment.name;
      }
    }
  }
}

/// What a batch did to the running statistics tells what its own are: they took a tenth of them over.
std::vector<float> own_statistics(Engine& engine, const Parameters& params, const Batch& batch) {
  Parameters trained = params.clone();
  std::vector<float> gradient(params.size());
  static_cast<void>(engine.gradient(trained, laid_out(batch, engine.layout()), gradient));
  std::vector<float> own;
  for (std::size_t i = 0; i < params.size(); ++i) {
    own.push_back(10 * trained.values()[i] - 9 * params.values()[i]);
  }
  return own;
}

TEST_P(Layers, StatisticsOfABatchAreMeasuredWhereItIsEvaluated) {
  const ModelSpec spec{
      "two-norms",
      {2, 6, 6},
      3,
      {Conv2d{"a", 4, 3, 1}, BatchNorm{"b"}, Relu{}, Conv2d{"c", 3, 3, 1}, BatchNorm{"d"}, Flatten{}, Linear{"e", 3}}};
  const auto engine = make_engine(GetParam(), spec);
  const Batch batch = full_batch(spec, 21, 6);
  Parameters params = lively(spec, 5);
  const std::vector<Segment>& segments = params.layout().segments;
  const auto differs = [&](const Parameters& measured, const std::vector<float>& own, const std::string& name) {
    double largest = 0;
    for (const Segment& segment : segments) {
      for (std::size_t i = segment.offset; segment.name == name && i < segment.offset + segment.size; ++i) {
        largest = std::max(largest, static_cast<double>(std::abs(measured.values()[i] - own[i])));
      }
    }
    return largest;
  };
  Parameters measured = engine->with_batch_statistics(params, laid_out(batch, engine->layout()));
  std::vector<float> own = own_statistics(*engine, params, batch);
  for (const std::string name : {"b.running_mean", "b.running_var"}) {
    EXPECT_LT(differs(measured, own, name), 2e-5) << name;
  }
  // Behind a layer that normalises by other statistics the batch looks different,
  EXPECT_GT(differs(measured, own, "d.running_mean"), 1e-2);
  // and the same once these are the batch's own (as training takes them: divided by the number of values).
  for (const Segment& segment : segments) {
    for (std::size_t i = segment.offset; i < segment.offset + segment.size; ++i) {
      if (segment.name == "b.running_mean" || segment.name == "b.running_var") {
        constexpr float kValues = 21 * 36;
        const float factor = segment.name == "b.running_var" ? (kValues - 1) / kValues : 1;
        params.values()[i] = factor * measured.values()[i];
      }
    }
  }
  measured = engine->with_batch_statistics(params, laid_out(batch, engine->layout()));
  own = own_statistics(*engine, params, batch);
  for (const std::string name : {"d.running_mean", "d.running_var"}) {
    EXPECT_LT(differs(measured, own, name), 5e-5) << name;
  }
  // Everything else is as it was.
  for (const std::string name : {"a.weight", "b.weight", "d.num_batches_tracked"}) {
    EXPECT_EQ(differs(measured, {params.values().begin(), params.values().end()}, name), 0) << name;
  }
}

/// 0.05 times the sum of (z - target)^2 + z^4 / 10, so that its gradient depends on the latents.
LatentLoss curved_loss(double target) {
  return [target](std::span<const float> latents, std::span<float> gradient) {
    double loss = 0;
    for (std::size_t i = 0; i < latents.size(); ++i) {
      const auto z = static_cast<double>(latents[i]);
      loss += 0.05 * ((z - target) * (z - target) + 0.1 * z * z * z * z);
      gradient[i] = static_cast<float>(0.05 * (2 * (z - target) + 0.4 * z * z * z));
    }
    return loss;
  };
}

TEST_P(Layers, WeightsAndALatentLossAgreeWithPlainLoops) {
  std::vector<ModelSpec> specs = layer_specs();
  specs.push_back(lenet5({1, 12, 12}, 4));
  for (const ModelSpec& spec : specs) {
    const auto engine = make_engine(GetParam(), spec);
    for (const Latent latent : {Latent::penultimate, Latent::flatten}) {
      if (!find_latent_layer(spec, latent)) {
        continue;
      }
      Batch batch = full_batch(spec, 70, 4);
      Rng rng(9);
      for (int i = 0; i < batch.size; ++i) {
        batch.weights.push_back(static_cast<float>(rng.uniform()));
      }
      const Objective objective{Loss::cross_entropy, curved_loss(0.3), latent};
      Parameters params = lively(spec, 5);
      const auto expected = ReferenceNetwork<double>(spec, as<double>(params.values())).gradient(batch, objective);
      std::vector<float> gradient(params.size());
      const Parameters before = params.clone();
      const double value = engine->gradient(params, laid_out(batch, engine->layout()), objective, gradient);
      EXPECT_NEAR(value, expected.loss, 1e-5 * (1 + expected.loss)) << spec.name << " " << static_cast<int>(latent);
      EXPECT_LT(relative_error(gradient, expected.gradient), 1e-5) << spec.name << " " << static_cast<int>(latent);
      // The next step knows nothing of it.
      Parameters again = before.clone();
      const auto plain = ReferenceNetwork<double>(spec, as<double>(again.values())).gradient(batch, {});
      static_cast<void>(engine->gradient(again, laid_out(batch, engine->layout()), gradient));
      EXPECT_LT(relative_error(gradient, plain.gradient), 1e-5) << spec.name;
    }
  }
}

/// Smooth throughout, with a normalisation below the latent.
ModelSpec normalised_spec() {
  return {"normalised",
          {2, 4, 4},
          3,
          {Conv2d{"conv", 3, 3, 1}, BatchNorm{"norm"}, Elu{}, AvgPool{2}, Flatten{}, Linear{"fc1", 5}, Elu{},
           Linear{"fc2", 3}}};
}

TEST_P(Layers, TheGradientOfALatentLossAgreesWithFiniteDifferences) {
  const ModelSpec spec = normalised_spec();
  const auto engine = make_engine(GetParam(), spec);
  const Batch batch = laid_out(full_batch(spec, 20, 3), engine->layout());
  const Parameters params = lively(spec, 4);
  std::vector<float> ignored(params.size());
  for (const Latent latent : {Latent::penultimate, Latent::flatten}) {
    const Objective objective{Loss::cross_entropy, curved_loss(0.7), latent};
    const auto value = [&](std::size_t place, float by) {
      Parameters moved = params.clone();
      moved.values()[place] += by;
      return engine->gradient(moved, batch, objective, ignored);
    };
    std::vector<float> gradient(params.size());
    Parameters used = params.clone();
    static_cast<void>(engine->gradient(used, batch, objective, gradient));
    for (const Segment& segment : params.layout().segments) {
      if (segment.kind == SegmentKind::buffer) {
        continue;
      }
      constexpr float kStep = 0.01F;
      const double slope =
          (value(segment.offset, kStep) - value(segment.offset, -kStep)) / (2.0 * static_cast<double>(kStep));
      EXPECT_NEAR(static_cast<double>(gradient[segment.offset]), slope, 2e-3 * (1 + std::abs(slope))) << segment.name;
    }
  }
}

TEST_P(Layers, ALatentLossReadsTheLatentsOfTheTrainingPass) {
  // Gains 1 and offsets 0: whatever the running statistics are, the batch's own make mean 0 and variance 1.
  const ModelSpec spec{"bare", {2, 2, 2}, 3, {Conv2d{"conv", 4, 1, 0}, BatchNorm{"norm"}, Flatten{}, Linear{"fc", 3}}};
  const auto engine = make_engine(GetParam(), spec);
  const Batch batch = laid_out(full_batch(spec, 33, 3), engine->layout());
  Parameters params = initialise(spec, Rng(2));
  std::vector<float> seen;
  int calls = 0;
  const LatentLoss look = [&](std::span<const float> latents, std::span<float> gradient) {
    ++calls;
    seen.assign(latents.begin(), latents.end());
    EXPECT_EQ(gradient.size(), latents.size());
    EXPECT_EQ(std::count(gradient.begin(), gradient.end(), 0.0F), static_cast<std::ptrdiff_t>(gradient.size()));
    return 0.0;
  };
  std::vector<float> gradient(params.size());
  static_cast<void>(engine->gradient(params, batch, {Loss::cross_entropy, look, Latent::flatten}, gradient));
  EXPECT_EQ(calls, 1);
  ASSERT_EQ(seen.size(), 33U * 16U);
  for (std::size_t channel = 0; channel < 4; ++channel) {
    double sum = 0;
    double squares = 0;
    for (std::size_t i = 0; i < 33 * 4; ++i) {
      const auto z = static_cast<double>(seen[i / 4 * 16 + channel * 4 + i % 4]);
      sum += z / (33 * 4);
      squares += z * z / (33 * 4);
    }
    EXPECT_NEAR(sum, 0, 1e-5) << channel;
    EXPECT_NEAR(squares, 1, 1e-2) << channel;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Layers, testing::Values(EngineKind::native, EngineKind::torch),
                         [](const auto& tested) { return tested.param == EngineKind::native ? "native" : "torch"; });

}  // namespace
}  // namespace feroma
