#include "algorithms/channel_affine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/engine/engine.h"
#include "feroma/models/spec.h"

namespace feroma {
namespace {

TEST(ChannelAffine, LeNet5Has452ValuesAndKeepsItsHead) {
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  const ChannelAffine channels(*make_layout(model));
  EXPECT_EQ(channels.size(), 2U * (6 + 16 + 120 + 84));
  const Parameters params = initialise(model, Rng(1));
  const Parameters applied = channels.apply(params, std::vector<float>(channels.size(), 2.0F));
  const std::size_t head = params.layout().segments.size() - 2;
  EXPECT_EQ(applied.segment(head)[0], params.segment(head)[0]);
  EXPECT_EQ(applied.segment(0)[0], 2 * params.segment(0)[0]);
  EXPECT_FLOAT_EQ(applied.segment(1)[0], 2 * params.segment(1)[0] + 2);
}

TEST(ChannelAffine, IdentityChangesNoBit) {
  for (const ModelSpec& model : {lenet5({1, 28, 28}, 10), resnet9({3, 16, 16}, 10)}) {
    const Parameters params = initialise(model, Rng(1));
    const ChannelAffine channels(params.layout());
    const Parameters applied = channels.apply(params, channels.identity());
    EXPECT_TRUE(std::equal(params.values().begin(), params.values().end(), applied.values().begin()));
  }
}

TEST(ChannelAffine, NormalisationLayersComeFirst) {
  const ChannelAffine channels(*make_layout(resnet9({3, 16, 16}, 10)));
  EXPECT_EQ(channels.size(), 2U * (64 + 128 + 128 + 128 + 256 + 512 + 512 + 512));
}

TEST(ChannelAffine, ALonelyHeadIsAdapted) {
  const ModelSpec model{"one", {1, 2, 2}, 3, {Flatten{}, Linear{"fc", 3}}};
  EXPECT_EQ(ChannelAffine(*make_layout(model)).size(), 6U);
}

/// One picture per class on a smooth network with a convolution, so that finite differences see no kinks.
class SlopeTest : public testing::Test {
 protected:
  SlopeTest()
      : model{"smooth",
              {1, 6, 6},
              4,
              {Conv2d{"c1", 3, 3, 1}, Elu{}, AvgPool{2}, Flatten{}, Linear{"f1", 5}, Elu{}, Linear{"f2", 4}}},
        engine(make_engine(EngineKind::native, model)),
        start(initialise(model, Rng(3))),
        channels(start.layout()),
        values(channels.identity()) {
    batch.size = 6;
    batch.shape = model.input;
    batch.layout = engine->layout();
    batch.inputs.resize(engine->layout().size(model.input, batch.size));
    Rng rng(8);
    const int border = batch.layout.border;
    const int width = 6 + 2 * border;
    for (int row = 0; row < 6; ++row) {
      for (int column = 0; column < 6; ++column) {
        for (int sample = 0; sample < batch.size; ++sample) {
          batch.inputs[static_cast<std::size_t>(((row * width) + border + column) * kBatchLanes + sample)] =
              static_cast<float>(rng.normal());
        }
      }
    }
    for (float& value : values) {
      value += static_cast<float>(0.3 * rng.normal());
    }
  }

  double entropy(const std::vector<float>& at) {
    Parameters applied = channels.apply(start, at);
    std::vector<float> unused(applied.size());
    Objective objective;
    objective.loss = Loss::entropy;
    return engine->gradient(applied, batch, objective, unused);
  }

  ModelSpec model;
  std::unique_ptr<Engine> engine;
  Parameters start;
  ChannelAffine channels;
  std::vector<float> values;
  Batch batch;
};

TEST_F(SlopeTest, IsWhatFiniteDifferencesSay) {
  Parameters applied = channels.apply(start, values);
  std::vector<float> gradient(applied.size());
  Objective objective;
  objective.loss = Loss::entropy;
  engine->gradient(applied, batch, objective, gradient);
  const std::vector<float> slope = channels.slope(start, gradient);
  ASSERT_EQ(slope.size(), 2U * (3 + 5));
  double largest = 0;
  for (const float s : slope) {
    largest = std::max(largest, std::abs(static_cast<double>(s)));
  }
  EXPECT_GT(largest, 1e-3);
  for (std::size_t i = 0; i < values.size(); ++i) {
    constexpr float kStep = 0.01F;
    std::vector<float> more = values;
    std::vector<float> less = values;
    more[i] += kStep;
    less[i] -= kStep;
    const double expected =
        (entropy(more) - entropy(less)) / (static_cast<double>(more[i]) - static_cast<double>(less[i]));
    EXPECT_NEAR(slope[i], expected, 0.01 * std::abs(expected) + 1e-4 * largest + 2e-5) << i;
  }
}

TEST_F(SlopeTest, LargestMeanIsTheLayerThatMovedMost) {
  std::vector<float> moved(channels.size());
  moved[0] = 3;   // one of three factors of the convolution
  moved[8] = -5;  // one of five factors of the linear layer
  EXPECT_DOUBLE_EQ(channels.largest_mean(moved), 1);
  moved[11] = 10;  // one of its five offsets
  EXPECT_DOUBLE_EQ(channels.largest_mean(moved), 2);
}

}  // namespace
}  // namespace feroma
