#include "feroma/models/cost.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

// conv1: 6 maps of 28 x 28 from 3 channels; conv2: 16 maps of 10 x 10 from 6; linear 400-120-84-10.
constexpr double kConv1 = 6.0 * 3 * 25 * 784;
constexpr double kConv2 = 16.0 * 6 * 25 * 100;
constexpr double kLinear = 48000 + 10080 + 840;

TEST(Cost, OfLeNet5MatchesTheHandCount) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  EXPECT_EQ(forward_products(spec), kConv1 + kConv2 + kLinear);
  EXPECT_EQ(forward_products(spec), 651720);
  // The first layer has no input gradient.
  EXPECT_EQ(step_products(spec), 2 * kConv1 + 3 * (kConv2 + kLinear));
  EXPECT_EQ(step_products(spec), 1602360);
}

TEST(Cost, LayersWithoutWeightsAreFree) {
  const ModelSpec spec{.name = "pool", .input = {1, 4, 4}, .classes = 4, .layers = {Relu{}, AvgPool{2}, Flatten{}}};
  EXPECT_EQ(step_products(spec), 0);
}

TEST(Cost, TheFirstLayerWithWeightsIsTheOneWithoutInputGradient) {
  const ModelSpec spec{.name = "linear", .input = {1, 2, 2}, .classes = 3, .layers = {Flatten{}, Linear{"fc", 3}}};
  EXPECT_EQ(step_products(spec), 2 * 12);
}

}  // namespace
}  // namespace feroma
