#include "feroma/aggregation/mix.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"
#include "feroma/core/rng.h"
#include "tests/aggregation/one_segment.h"

namespace feroma {
namespace {

using test::layout_of;

ParametersPtr model(const std::shared_ptr<const ParamLayout>& layout, Rng rng) {
  Parameters params(layout);
  for (float& value : params.values()) {
    value = static_cast<float>(rng.normal());
  }
  return share(std::move(params));
}

RC_GTEST_PROP(Mix, IsOneFusedMultiplyAddPerSourceInOrder, (std::uint16_t seed)) {
  Rng rng(seed);
  const std::size_t size = 1 + rng.below(5000);  // crosses the block size and odd tails
  const auto layout = layout_of(size);
  const std::vector<ParametersPtr> sources{model(layout, rng.derive("a")), model(layout, rng.derive("b")),
                                           model(layout, rng.derive("c"))};
  const std::vector<float> weights{0.2F, 0.5F, 0.3F, 0, 1, 0};
  const auto mixed = mix(sources, weights);
  RC_ASSERT(mixed.size() == 2U);
  for (std::size_t i = 0; i < size; ++i) {
    float expected = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      expected = std::fma(weights[s], sources[s]->values()[i], expected);
    }
    RC_ASSERT(mixed[0].values()[i] == expected);
    RC_ASSERT(mixed[1].values()[i] == sources[1]->values()[i]);
  }
}

RC_GTEST_PROP(Mix, ARowDependsOnNothingButItsOwnWeights, (std::uint16_t seed)) {
  Rng rng(seed);
  const auto layout = layout_of(1 + rng.below(200));
  std::vector<ParametersPtr> sources;
  for (std::size_t s = 0; s < 1 + seed % 9U; ++s) {
    sources.push_back(model(layout, rng.derive("source", s)));
  }
  std::vector<float> weights((1 + rng.below(15)) * sources.size());  // full tiles and rows that are left over
  for (float& weight : weights) {
    weight = rng.bernoulli(0.6) ? static_cast<float>(rng.normal()) : 0.0F;
  }
  const auto mixed = mix(sources, weights);
  for (std::size_t r = 0; r < mixed.size(); ++r) {
    for (std::size_t i = 0; i < layout->size; ++i) {
      float expected = 0;
      for (std::size_t s = 0; s < sources.size(); ++s) {
        const float weight = weights[r * sources.size() + s];
        expected = weight != 0 ? std::fma(weight, sources[s]->values()[i], expected) : expected;
      }
      RC_ASSERT(mixed[r].values()[i] == expected);
    }
  }
}

TEST(Mix, SkipsSourcesWithZeroWeightEvenIfTheyAreBroken) {
  const auto layout = layout_of(5);
  Parameters broken(layout);
  std::fill(broken.values().begin(), broken.values().end(), std::numeric_limits<float>::quiet_NaN());
  const std::vector<ParametersPtr> sources{model(layout, Rng(1)), share(std::move(broken))};
  // One row alone, and a tile of six in which another row does take the broken model.
  EXPECT_TRUE(mix(sources, std::vector<float>{1, 0}).front().all_finite());
  EXPECT_TRUE(mix(sources, std::vector<float>{1, std::numeric_limits<float>::denorm_min()}).front().all_finite());
  const auto tile = mix(sources, std::vector<float>{1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0});
  EXPECT_TRUE(tile[0].all_finite() && tile[5].all_finite());
  EXPECT_FALSE(tile[2].all_finite());
}

TEST(Mix, RefusesModelsOfDifferentSize) {
  const std::vector<ParametersPtr> sources{model(layout_of(3), Rng(1)), model(layout_of(4), Rng(1))};
  EXPECT_THROW((void)mix(sources, std::vector<float>{0.5F, 0.5F}), Error);
}

TEST(Mix, RefusesWeightsThatAreNotWholeRows) {
  const std::vector<ParametersPtr> sources{model(layout_of(3), Rng(1)), model(layout_of(3), Rng(2))};
  EXPECT_THROW((void)mix(sources, std::vector<float>{0.5F, 0.5F, 1}), Error);
}

TEST(WeightedMean, OfIdenticalModelsIsThatModel) {
  const auto layout = layout_of(100);
  const ParametersPtr one = model(layout, Rng(4));
  const std::vector<ParametersPtr> sources{one, one};
  const Parameters mean = weighted_mean(sources, std::vector<std::int64_t>{1, 1});
  EXPECT_TRUE(std::equal(mean.values().begin(), mean.values().end(), one->values().begin()));
}

TEST(WeightedMean, IgnoresClientsWithZeroExamples) {
  const auto layout = layout_of(10);
  const std::vector<ParametersPtr> sources{model(layout, Rng(1)), model(layout, Rng(2))};
  const Parameters mean = weighted_mean(sources, std::vector<std::int64_t>{0, 7});
  EXPECT_TRUE(std::equal(mean.values().begin(), mean.values().end(), sources[1]->values().begin()));
}

RC_GTEST_PROP(WeightedMean, LiesInTheCoordinateWiseHull, (std::uint16_t seed)) {
  Rng rng(seed);
  const auto layout = layout_of(50);
  const std::vector<ParametersPtr> sources{model(layout, rng.derive("a")), model(layout, rng.derive("b"))};
  const Parameters mean =
      weighted_mean(sources, std::vector<std::int64_t>{1 + static_cast<std::int64_t>(rng.below(9)), 4});
  for (std::size_t i = 0; i < 50; ++i) {
    const auto [low, high] = std::minmax(sources[0]->values()[i], sources[1]->values()[i]);
    RC_ASSERT(mean.values()[i] >= low - 1e-6F);
    RC_ASSERT(mean.values()[i] <= high + 1e-6F);
  }
}

TEST(Extrapolate, GoesOnInTheSameDirectionAndLeavesStatisticsAlone) {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("weight", SegmentKind::weight, {2});
  layout->add("running_var", SegmentKind::buffer, {1});
  const auto with = [&](std::vector<float> values) {
    Parameters params(layout);
    std::copy(values.begin(), values.end(), params.values().begin());
    return share(std::move(params));
  };
  const Parameters ahead = extrapolate(with({3, -1, 0.5F}), with({1, 1, 4}), 0.5);
  EXPECT_EQ(std::vector<float>(ahead.values().begin(), ahead.values().end()), (std::vector<float>{4, -2, 0.5F}));
}

TEST(WeightedMean, OfNothingIsAnError) {
  EXPECT_THROW((void)weighted_mean({}, {}), Error);
  const std::vector<ParametersPtr> one{model(layout_of(2), Rng(1))};
  EXPECT_THROW((void)weighted_mean(one, std::vector<std::int64_t>{0}), Error);
  EXPECT_THROW((void)weighted_mean(one, std::vector<std::int64_t>{1, 2}), Error);
}

}  // namespace
}  // namespace feroma
