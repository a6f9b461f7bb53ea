#include "feroma/aggregation/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "feroma/aggregation/mix.h"
#include "feroma/core/rng.h"
#include "tests/aggregation/one_segment.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::layout_of;

ParametersPtr model_of(const std::vector<float>& values) {
  Parameters params(layout_of(values.size()));
  std::copy(values.begin(), values.end(), params.values().begin());
  return share(std::move(params));
}

std::vector<float> folded(const FoldRule& rule, const std::vector<ParametersPtr>& sources,
                          const std::vector<float>& weights) {
  const auto outputs = fold_models(rule, sources, weights);
  return {outputs[0].values().begin(), outputs[0].values().end()};
}

TEST(Fold, MedianIsByWeightAndByParameter) {
  const std::vector<ParametersPtr> sources{model_of({1, 30}), model_of({2, 20}), model_of({3, 10})};
  const FoldRule median{Fold::median};
  EXPECT_EQ(folded(median, sources, {1, 1, 1}), (std::vector<float>{2, 20}));
  EXPECT_EQ(folded(median, sources, {0.1F, 0.1F, 0.8F}), (std::vector<float>{3, 10}));
  EXPECT_EQ(folded(median, sources, {0.25F, 0.25F, 0.5F}), (std::vector<float>{2.5F, 15})) << "between two halves";
  EXPECT_EQ(folded(median, sources, {1, 0, 0}), (std::vector<float>{1, 30})) << "who has no weight has no vote";
}

TEST(Fold, TrimmedMeanCutsWeightAtBothEnds) {
  const std::vector<ParametersPtr> sources{model_of({-100}), model_of({1}), model_of({3}), model_of({1000})};
  EXPECT_FLOAT_EQ(folded({Fold::trimmed, 0.25}, sources, {1, 1, 1, 1})[0], 2);
  // Half of the outer two is left at a trim of one eighth.
  EXPECT_FLOAT_EQ(folded({Fold::trimmed, 0.125}, sources, {1, 1, 1, 1})[0], (0.5F * -100 + 1 + 3 + 0.5F * 1000) / 3);
  EXPECT_FLOAT_EQ(folded({Fold::trimmed, 0}, sources, {1, 1, 1, 1})[0], 226);
}

// Five shares of a fifth are not one in floats; what is over must not let the liar in.
TEST(Fold, RoundingLeavesNothingOfALiar) {
  const std::vector<ParametersPtr> sources{model_of({1}), model_of({1}), model_of({1}), model_of({1}),
                                           model_of({1e30F})};
  const float fifth = 0.2F;
  for (const float liar : {fifth, std::nextafter(fifth, 1.0F)}) {
    EXPECT_EQ(folded({Fold::trimmed, 0.2}, sources, {fifth, fifth, fifth, fifth, liar})[0], 1);
  }
}

TEST(Fold, KrumTakesTheModelThatMostAreNear) {
  const std::vector<ParametersPtr> sources{model_of({0, 0}), model_of({0.2F, 0}), model_of({0, 0.3F}),
                                           model_of({90, -90})};
  EXPECT_EQ(folded({Fold::krum, 0.3}, sources, {1, 1, 1, 1}), (std::vector<float>{0, 0}));
  EXPECT_EQ(folded({Fold::krum, 0.3}, sources, {0.1F, 0.1F, 0.1F, 5}), (std::vector<float>{90, -90}));
}

// The reason for all of this: one of five sends its update times minus ten.
TEST(Fold, OneLiarMovesTheMeanAndNotTheOthers) {
  Rng rng(1);
  std::vector<ParametersPtr> sources;
  for (int k = 0; k < 5; ++k) {
    std::vector<float> values(1000);
    for (float& value : values) {
      value = static_cast<float>(1 + 0.1 * rng.normal()) * (k == 4 ? -10.0F : 1.0F);
    }
    sources.push_back(model_of(values));
  }
  const std::vector<float> weights(5, 0.2F);
  const auto error = [&](const FoldRule& rule) {
    double worst = 0;
    for (const float value : folded(rule, sources, weights)) {
      worst = std::max(worst, std::abs(static_cast<double>(value) - 1));
    }
    return worst;
  };
  EXPECT_GT(error({Fold::mean}), 2);
  EXPECT_LT(error({Fold::median}), 0.4);
  EXPECT_LT(error({Fold::trimmed, 0.2}), 0.4);
  EXPECT_LT(error({Fold::krum, 0.25}), 0.5);
}

TEST(Fold, RowsAndThreadsDoNotMatter) {
  Rng rng(2);
  std::vector<ParametersPtr> sources;
  for (int k = 0; k < 4; ++k) {
    std::vector<float> values(9000);  // several tasks and an odd tail
    for (float& value : values) {
      value = static_cast<float>(rng.normal());
    }
    sources.push_back(model_of(values));
  }
  const std::vector<float> weights{0.1F, 0.2F, 0.3F, 0.4F, 0.7F, 0.1F, 0.1F, 0.1F};
  const Parallel backwards = [](std::size_t count, const std::function<void(std::size_t)>& task) {
    for (std::size_t i = count; i > 0; --i) {
      task(i - 1);
    }
  };
  for (const Fold fold : {Fold::mean, Fold::median, Fold::trimmed, Fold::krum}) {
    const auto both = fold_models({fold}, sources, weights, backwards);
    const auto second = fold_models({fold}, sources, std::span(weights).subspan(4));
    EXPECT_TRUE(std::equal(both[1].values().begin(), both[1].values().end(), second[0].values().begin()));
  }
}

TEST(Fold, RefusesATrimThatLeavesNothing) {
  expect_error(ErrorCode::invalid_config, "must be in 0..0.5", [] {
    return fold_models({Fold::trimmed, 0.5}, std::vector{model_of({1})}, std::vector{1.0F}).size();
  });
}

}  // namespace
}  // namespace feroma
