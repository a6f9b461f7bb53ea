#include "algorithms/strangers.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

const ProfileShape kLine{2, 1, 1, true};

/// 400 samples with spread 1, so a mean is known to 0.05.
Profile profile_at(float x) { return {{{x, 2 * x}, {1, 1}}, {{{x}, {1}}}, {1.0F}, 400}; }

std::vector<Parent> parents_at(std::initializer_list<float> places) {
  std::vector<Parent> parents;
  for (const float x : places) {
    parents.push_back({ClientId{static_cast<std::uint32_t>(parents.size())}, nullptr, profile_at(x), 400});
  }
  return parents;
}

TEST(Strangers, AreFurtherFromEverybodyThanNoiseExplains) {
  const std::vector<Parent> parents = parents_at({0, 0.02F, 3, 3.02F});
  const FeromaOptions options;
  const auto stranger = [&](float x) { return is_stranger(options, kLine, {}, profile_at(x), parents); };
  EXPECT_FALSE(stranger(0.05F));
  EXPECT_FALSE(stranger(3.05F));
  EXPECT_TRUE(stranger(1.5F));
  EXPECT_TRUE(stranger(9));
}

// Other class shares make other features too; that is no new distribution to the models.
TEST(Strangers, AreNobodyWhereClassSharesDiffer) {
  std::vector<Parent> parents = parents_at({0, 0.02F, 3, 3.02F});
  for (std::size_t i = 0; i < parents.size(); ++i) {
    parents[i].profile.prior = i % 2 == 0 ? std::vector<float>{0.9F, 0.1F} : std::vector<float>{0.1F, 0.9F};
  }
  EXPECT_FALSE(is_stranger({}, kLine, {}, profile_at(9), parents));
}

TEST(Strangers, AreNotKnownByAModelThatWasKept) {
  std::vector<Parent> parents = parents_at({0, 0.02F, 3});
  EXPECT_FALSE(is_stranger({}, kLine, {}, profile_at(3), parents));
  parents[0].round = parents[1].round = 5;
  EXPECT_TRUE(is_stranger({}, kLine, {}, profile_at(3), parents));
}

TEST(Strangers, AreUnknownToAMetricWithoutNoise) {
  FeromaOptions options;
  options.assign_metric = Metric::euclidean;
  EXPECT_FALSE(is_stranger(options, kLine, {}, profile_at(9), parents_at({0, 3})));
}

TEST(Strangers, AreMeasuredAgainstTheParentThatLeadsThem) {
  const std::vector<Parent> parents = parents_at({0, 0.02F, 3, 3.02F});
  const std::vector<Receiver> receivers{{ClientId{7}, profile_at(0.05F)}, {ClientId{8}, profile_at(1.5F)}};
  const std::vector<double> ratios = strangeness({}, kLine, {}, receivers, parents, std::vector<std::size_t>{0, 2});
  EXPECT_LT(ratios[0], 1.7);
  EXPECT_GT(ratios[1], 5);
  FeromaOptions euclidean;
  euclidean.metric = Metric::euclidean;
  EXPECT_EQ(strangeness(euclidean, kLine, {}, receivers, parents, std::vector<std::size_t>{0, 2}),
            (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace feroma
