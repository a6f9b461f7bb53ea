#include "feroma/algorithms/components.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/algorithms/two_concepts.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits;
using test::constant_model;
using test::TwoConcepts;

TEST(Components, StartApartAndTheFirstIsTheRunsOwn) {
  const TwoConcepts toy;
  const ServerContext server = toy.server();
  const Models models = initial_models(server, 3, "test");
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0], server.initial);
  EXPECT_NE(bits(models[1]), bits(models[0]));
  EXPECT_NE(bits(models[2]), bits(models[1]));
  EXPECT_EQ(bits(initial_models(server, 2, "test")[1]), bits(models[1]));
  EXPECT_NE(bits(initial_models(toy.server(43), 2, "test")[1]), bits(models[1]));
}

TEST(Components, OneStartFromAFileIsNotEnoughForSeveral) {
  const TwoConcepts toy;
  ServerContext server = toy.server();
  server.model.script = std::make_shared<ScriptModel>();
  EXPECT_EQ(initial_models(server, 1, "test").size(), 1U);
  expect_error(ErrorCode::unsupported, "[test] several models must start apart",
               [&] { return initial_models(server, 2, "test").size(); });
}

TEST(Components, TheLowestIsTheFirstOfEqualsAndANumber) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(lowest(std::vector<double>{3, 1, 2, 1}), 1U);
  EXPECT_EQ(lowest(std::vector<double>{kNan, 5, kNan, 4}), 3U);
  EXPECT_EQ(lowest(std::vector<double>{kNan, kNan}), 0U);
}

TEST(Components, AMeanWithoutExamplesLeavesTheModel) {
  const TwoConcepts toy;
  const ParametersPtr model = constant_model(toy.spec(), 9);
  const std::vector<Upload> none{{constant_model(toy.spec(), 1), 0}};
  EXPECT_EQ(mean_or(model, none), model);
  EXPECT_EQ(mean_or(model, {}), model);
  const std::vector<Upload> some{
      {constant_model(toy.spec(), 1), 30}, {constant_model(toy.spec(), 7), 0}, {constant_model(toy.spec(), 5), 10}};
  EXPECT_FLOAT_EQ(mean_or(model, some)->values()[0], 2);
}

TEST(Components, AnEmptyClusterIsKeptOrZeroed) {
  const TwoConcepts toy;
  const ParametersPtr model = constant_model(toy.spec(), 9);
  EXPECT_EQ(emptied(model, EmptyCluster::keep), model);
  EXPECT_EQ(bits(emptied(model, EmptyCluster::zero)), std::vector<float>(model->size()));
}

TEST(Components, ScoringNothingIsEmpty) {
  TwoConcepts toy;
  toy.give(0, 0, [](std::int32_t) { return false; });
  const auto predictor = make_single_model_predictor(constant_model(toy.spec(), 1));
  EXPECT_EQ(score(*predictor, toy.trainer(), toy.view(0)).count, 0);
}

}  // namespace
}  // namespace feroma
