#include "feroma/models/spec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(LeNet5, HasThePublishedParameterCounts) {
  EXPECT_EQ(make_layout(lenet5({1, 28, 28}, 10))->size, 61706U);
  EXPECT_EQ(make_layout(lenet5({3, 28, 28}, 10))->size, 62006U);
  EXPECT_EQ(make_layout(lenet5({3, 32, 32}, 10))->size, 83126U);
}

TEST(LeNet5, NamesItsTensorsLikeTheStateDict) {
  std::vector<std::string> names;
  const auto layout = make_layout(lenet5({3, 28, 28}, 10));
  for (const Segment& segment : layout->segments) {
    names.push_back(segment.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "fc1.weight",
                                             "fc1.bias", "fc2.weight", "fc2.bias", "fc3.weight", "fc3.bias"}));
}

TEST(LeNet5, HasTheStateDictShapes) {
  const auto layout = make_layout(lenet5({3, 28, 28}, 10));
  EXPECT_EQ(layout->segments[0].shape, (std::vector<std::int64_t>{6, 3, 5, 5}));
  EXPECT_EQ(layout->segments[2].shape, (std::vector<std::int64_t>{16, 6, 5, 5}));
  EXPECT_EQ(layout->segments[4].shape, (std::vector<std::int64_t>{120, 400}));
  EXPECT_EQ(layout->segments[9].shape, (std::vector<std::int64_t>{10}));
  EXPECT_EQ(layout->segments[9].kind, SegmentKind::bias);
}

TEST(LeNet5, ShrinksA28PixelPictureTo5) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  EXPECT_EQ(output_shape(spec, 0), (SampleShape{3, 28, 28}));
  EXPECT_EQ(output_shape(spec, 1), (SampleShape{6, 28, 28}));
  EXPECT_EQ(output_shape(spec, 3), (SampleShape{6, 14, 14}));
  EXPECT_EQ(output_shape(spec, 4), (SampleShape{16, 10, 10}));
  EXPECT_EQ(output_shape(spec, 6), (SampleShape{16, 5, 5}));
  EXPECT_EQ(output_shape(spec, spec.layers.size()), (SampleShape{10, 1, 1}));
}

TEST(LeNet5, HasTheLatentsOfThePaper) {
  EXPECT_EQ(latent_size(lenet5({1, 28, 28}, 10), Latent::flatten), 400);
  EXPECT_EQ(latent_size(lenet5({3, 32, 32}, 10), Latent::flatten), 576);
  EXPECT_EQ(latent_size(lenet5({3, 32, 32}, 10), Latent::penultimate), 84);
  EXPECT_EQ(latent_layer(lenet5({1, 28, 28}, 10), Latent::flatten), 6U);
  EXPECT_EQ(latent_layer(lenet5({1, 28, 28}, 10), Latent::penultimate), 10U);
}

TEST(ResNet9, HasTheReferencesParametersBuffersAndLatents) {
  const auto counts = [](SampleShape input, int classes) {
    std::pair<std::size_t, std::size_t> sizes{0, 0};
    const auto layout = make_layout(resnet9(input, classes));
    for (const Segment& segment : layout->segments) {
      (segment.kind == SegmentKind::buffer ? sizes.second : sizes.first) += segment.size;
    }
    return sizes;
  };
  EXPECT_EQ(counts({3, 32, 32}, 100), (std::pair<std::size_t, std::size_t>{6775140, 4488}));
  EXPECT_EQ(counts({1, 64, 64}, 14).first, 6683790U);
  EXPECT_EQ(counts({3, 64, 64}, 10).first, 6652170U);
  EXPECT_EQ(counts({3, 28, 28}, 10).first, 6575370U);
  EXPECT_EQ(latent_size(resnet9({3, 32, 32}, 100), Latent::flatten), 2048);
  EXPECT_EQ(latent_size(resnet9({3, 64, 64}, 10), Latent::flatten), 8192);
  EXPECT_EQ(latent_size(resnet9({3, 28, 28}, 10), Latent::flatten), 512);
}

TEST(HarCnn, TakesNineSignalsOf128Steps) {
  const ModelSpec spec = har_cnn({9, 1, 128}, 6);
  EXPECT_EQ(output_shape(spec, 1), (SampleShape{32, 1, 128}));
  EXPECT_EQ(output_shape(spec, 3), (SampleShape{32, 1, 64}));
  EXPECT_EQ(latent_size(spec, Latent::flatten), 64 * 16);
  EXPECT_EQ(make_layout(spec)->segments[0].shape, (std::vector<std::int64_t>{32, 9, 5}));
}

TEST(Mlp, HasMcMahansParameterCount) { EXPECT_EQ(make_layout(mlp({1, 28, 28}, 10))->size, 199210U); }

TEST(MakeLayout, RefusesSkipsThatDoNotMatch) {
  const auto refuses = [](std::vector<Layer> layers, std::string_view part) {
    layers.insert(layers.end(), {Flatten{}, Linear{"l", 2}});
    expect_error(ErrorCode::invalid_config, part, [&] { return make_layout(ModelSpec{"m", {2, 4, 4}, 2, layers}); });
  };
  refuses({SkipEnd{}}, "layer 0 of m adds what no SkipBegin kept");
  refuses({SkipBegin{}, Relu{}}, "SkipBegin without its SkipEnd");
  refuses({SkipBegin{}, Conv2d{"c", 3, 3, 1}, SkipEnd{}}, "another shape");
}

TEST(Initialise, StartsGainsAtOneOffsetsAtZeroAndRunningVariancesAtOne) {
  const ModelSpec spec{"m", {2, 4, 4}, 2, {BatchNorm{"n"}, Flatten{}, Linear{"l", 2}}};
  const Parameters params = initialise(spec, Rng(1));
  const std::vector<float> start(params.values().begin(), params.values().begin() + 9);
  EXPECT_EQ(start, (std::vector<float>{1, 1, 0, 0, 0, 0, 1, 1, 0}));
}

TEST(OutputShape, PoolingASingleRowWorksAlongIt) {
  const ModelSpec spec{"pool", {3, 1, 7}, 9, {MaxPool{2}, Flatten{}}};
  EXPECT_EQ(output_shape(spec, 1), (SampleShape{3, 1, 3}));
}

TEST(OutputShape, PoolingDropsARemainder) {
  const ModelSpec spec{"pool", {1, 7, 5}, 6, {AvgPool{2}, Flatten{}}};
  EXPECT_EQ(output_shape(spec, 1), (SampleShape{1, 3, 2}));
}

TEST(OutputShape, RefusesALayerThatDoesNotFit) {
  const auto shape_of = [](SampleShape input, Layer layer) {
    return output_shape(ModelSpec{"m", input, 2, {std::move(layer)}}, 1);
  };
  expect_error(ErrorCode::invalid_config, "does not fit into 4 x 4", [&] {
    return shape_of({1, 4, 4}, Conv2d{"c", 1, 5, 0});
  });
  expect_error(ErrorCode::invalid_config, "fit into 1 x 1, got 2", [&] { return shape_of({1, 1, 1}, AvgPool{2}); });
  expect_error(ErrorCode::invalid_config, "fit into 1 x 1, got 0", [&] { return shape_of({1, 1, 1}, AvgPool{0}); });
  expect_error(ErrorCode::invalid_config, "flattened input, got 2 x 3 x 1", [&] {
    return shape_of({2, 3, 1}, Linear{"l", 2});
  });
  expect_error(ErrorCode::invalid_config, "features >= 1, got 0", [&] { return shape_of({2, 1, 1}, Linear{"l", 0}); });
  expect_error(ErrorCode::invalid_config, "channels >= 1", [&] { return shape_of({2, 8, 8}, Conv2d{"c", 0, 3, 1}); });
  expect_error(ErrorCode::invalid_config, "input must be >= 1, got 0 x 8 x 8", [&] {
    return shape_of({0, 8, 8}, Relu{});
  });
}

TEST(MakeLayout, RefusesAModelThatDoesNotEndInItsClasses) {
  const ModelSpec spec{"m", {1, 2, 2}, 3, {Flatten{}, Linear{"l", 4}}};
  expect_error(ErrorCode::invalid_config, "must end in 3 logits, got 4", [&] { return make_layout(spec); });
}

TEST(LatentLayer, RefusesAModelWithoutThatLatent) {
  const ModelSpec spec{"m", {4, 1, 1}, 3, {Linear{"l", 3}}};
  expect_error(ErrorCode::invalid_config, "no flatten latent", [&] { return latent_layer(spec, Latent::flatten); });
  expect_error(ErrorCode::invalid_config, "no penultimate latent",
               [&] { return latent_layer(spec, Latent::penultimate); });
}

TEST(Initialise, StaysWithinOneOverTheRootOfFanInAndFillsThatRange) {
  const Parameters params = initialise(lenet5({3, 28, 28}, 10), Rng(1));
  const std::array<double, 5> fan_in{75, 150, 400, 120, 84};
  for (std::size_t i = 0; i < params.layout().segments.size(); ++i) {
    const double bound = 1.0 / std::sqrt(fan_in[i / 2]);
    float largest = 0;
    for (const float value : params.segment(i)) {
      largest = std::max(largest, std::abs(value));
    }
    EXPECT_LE(static_cast<double>(largest), bound * (1 + 1e-6)) << params.layout().segments[i].name;
    EXPECT_GT(static_cast<double>(largest), bound * 0.6) << params.layout().segments[i].name;
  }
}

TEST(Initialise, HasMeanZero) {
  const Parameters params = initialise(lenet5({3, 28, 28}, 10), Rng(1));
  double sum = 0;
  for (const float value : params.segment(4)) {
    sum += static_cast<double>(value);
  }
  // 48 000 uniform values on +-0.05 have a standard error of 0.00013.
  EXPECT_NEAR(sum / 48000.0, 0.0, 0.0006);
}

TEST(Initialise, GivesTheSameModelForTheSameSeedOnly) {
  const ModelSpec spec = lenet5({1, 28, 28}, 10);
  const Parameters a = initialise(spec, Rng(7));
  const Parameters b = initialise(spec, Rng(7));
  const Parameters c = initialise(spec, Rng(8));
  EXPECT_TRUE(std::equal(a.values().begin(), a.values().end(), b.values().begin()));
  EXPECT_NE(a.values()[0], c.values()[0]);
}

TEST(Initialise, OfATensorDependsOnItsNameAndNotOnTheLayersBeforeIt) {
  const ModelSpec with{"m", {4, 1, 1}, 3, {Linear{"first", 4}, Relu{}, Linear{"last", 3}}};
  const ModelSpec without{"m", {4, 1, 1}, 3, {Linear{"last", 3}}};
  const Parameters a = initialise(with, Rng(3));
  const Parameters b = initialise(without, Rng(3));
  EXPECT_TRUE(std::equal(a.segment(2).begin(), a.segment(2).end(), b.segment(0).begin()));
  EXPECT_TRUE(std::equal(a.segment(3).begin(), a.segment(3).end(), b.segment(1).begin()));
  EXPECT_NE(a.segment(0)[0], a.segment(2)[0]);
}

TEST(Registry, BuildsEveryModelByName) {
  for (const ModelEntry& entry : known_models()) {
    EXPECT_EQ(make_model(entry.name, {3, 32, 32}, 10).name, entry.name);
    EXPECT_FALSE(entry.source.empty());
  }
}

// The layers themselves say it too: no sample that a model could take is refused.
TEST(Registry, KnowsTheSmallestSampleOfEveryModel) {
  const auto fits = [](const ModelEntry& entry, SampleShape input) {
    try {
      static_cast<void>(make_layout(entry.make(input, 2)));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (const ModelEntry& entry : known_models()) {
    SCOPED_TRACE(entry.name);
    for (int height = 1; height <= 20; ++height) {
      for (int width = 1; width <= 20; ++width) {
        EXPECT_EQ(fits(entry, {1, height, width}), height >= entry.smallest.height && width >= entry.smallest.width)
            << height << " x " << width;
      }
    }
  }
}

TEST(Registry, ListsTheKnownModelsForAnUnknownName) {
  expect_error(ErrorCode::invalid_config, "must be one of lenet5, resnet9, mlp, har-cnn, got \"lenet\"", [] {
    return make_model("lenet", {1, 28, 28}, 10);
  });
}

TEST(Registry, RefusesPicturesTooSmallForTheModel) {
  expect_error(ErrorCode::invalid_config, "lenet5 needs samples of at least 1x10x12, got 3x8x16", [] {
    return make_model("lenet5", {3, 8, 16}, 10);
  });
}

TEST(Registry, RefusesSizesThatNoSampleHas) {
  constexpr int kMost = std::numeric_limits<int>::max();
  expect_error(ErrorCode::invalid_config, "1 to 4194304 values", [] {
    return make_model("mlp", {kMost, kMost, kMost}, 2);
  });
  expect_error(ErrorCode::invalid_config, "1 to 4194304 values", [] { return make_model("mlp", {1, 0, 3}, 2); });
  expect_error(ErrorCode::invalid_config, "in 1..65536, got 0", [] { return make_model("mlp", {1, 2, 2}, 0); });
  expect_error(ErrorCode::invalid_config, "got 65537", [] { return make_model("mlp", {1, 2, 2}, 65537); });
}

}  // namespace
}  // namespace feroma
