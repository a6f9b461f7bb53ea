#include "algorithms/norm_limit.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "feroma/models/spec.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

const ModelSpec kFourValues = test::toy_model({1, 1, 1}, 2);  // four values: an update of d everywhere is 2 d long

ParametersPtr filled(float value) {
  Parameters params(make_layout(kFourValues));
  std::fill(params.values().begin(), params.values().end(), value);
  return share(std::move(params));
}

std::map<ClientId, Message> answers(std::initializer_list<float> values) {
  std::map<ClientId, Message> all;
  for (const float value : values) {
    all[ClientId{static_cast<std::uint32_t>(all.size())}] = {{{"model", filled(value)}}};
  }
  return all;
}

ParametersPtr nothing(ClientId) { return filled(0); }

TEST(UpdateNorm, IsTheLengthOfTheChange) { EXPECT_DOUBLE_EQ(update_norm(*filled(1), *filled(-2)), 6); }

// One client may take a hundred times as many steps as another.
TEST(UpdateNorm, DoesNotMeasureStepsThatANormCounted) {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("norm.weight", SegmentKind::affine, {2});
  layout->add("norm.running_var", SegmentKind::buffer, {2});
  layout->add("norm.num_batches_tracked", SegmentKind::buffer, {1});
  const Parameters sent{layout};
  Parameters trained{layout};
  trained.values()[0] = 3;
  trained.values()[2] = 4;
  trained.values()[4] = 1000;
  EXPECT_DOUBLE_EQ(update_norm(sent, trained), 5);
  EXPECT_DOUBLE_EQ(model_norm(trained), 5);
}

TEST(RefuseLongUpdates, NamesThoseBeyondTheLimitAndNobodyElse) {
  const auto refused = refuse_long_updates(3, answers({1, -1, 2, 3, -13}), nothing);  // the median is 2
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused.at(ClientId{4}),
            "[feroma] client 4's update must be at most 3 times as long as the median one, got 6.5 times");
  EXPECT_TRUE(refuse_long_updates(7, answers({1, -1, 2, 3, -13}), nothing).empty());
}

TEST(RefuseLongUpdates, MeasuresFromWhatEachClientWasSent) {
  const auto sent = [](ClientId client) { return filled(client == ClientId{2} ? 100 : 0); };
  const auto refused = refuse_long_updates(3, answers({1, 1, 101, 101}), sent);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused.contains(ClientId{3}));
}

TEST(RefuseLongUpdates, SaysNothingWhereMostClientsChangedNothing) {
  EXPECT_TRUE(refuse_long_updates(3, answers({0, 0, 0, 5}), nothing).empty());
  EXPECT_TRUE(refuse_long_updates(3, {}, nothing).empty());
}

TEST(RefuseLongUpdates, SeesHugeModelsThatAreFinite) {
  const auto refused = refuse_long_updates(3, answers({1, 1, std::numeric_limits<float>::max()}), nothing);
  EXPECT_TRUE(refused.contains(ClientId{2}));
}

TEST(RefuseFarNumbers, NamesWhoWouldDecideForAll) {
  const auto refused = refuse_far_numbers("bounds", 100, {{ClientId{0}, 1.0}, {ClientId{1}, 2.0}, {ClientId{2}, 1e30}});
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused.at(ClientId{2}).find("[feroma] client 2's bounds must be at most 100 times as large"), 0U);
  EXPECT_TRUE(refuse_far_numbers("bounds", 100, {{ClientId{0}, 1.0}, {ClientId{1}, 1.0}, {ClientId{2}, 99.0}}).empty());
  EXPECT_TRUE(refuse_far_numbers("bounds", 100, {{ClientId{0}, 0.0}, {ClientId{1}, 0.0}, {ClientId{2}, 5.0}}).empty());
  EXPECT_TRUE(refuse_far_numbers("bounds", 100, {{ClientId{0}, 0.0}, {ClientId{1}, 0.0}}).empty());
}

// Clients of Flower have no latents.
TEST(RefuseFarNumbers, KnowsWhatIsUsualWhereMostHaveNone) {
  std::map<ClientId, double> sizes{{ClientId{0}, 0.0}, {ClientId{1}, 0.0}, {ClientId{2}, 0.0}, {ClientId{3}, 0.0}};
  sizes.insert({{ClientId{4}, 1.0}, {ClientId{5}, 2.0}, {ClientId{6}, 1e17}});
  const auto refused = refuse_far_numbers("latent_max", 100, sizes);
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_TRUE(refused.contains(ClientId{6}));
}

}  // namespace
}  // namespace feroma
