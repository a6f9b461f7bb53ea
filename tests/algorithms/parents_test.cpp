#include "algorithms/parents.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>

namespace feroma {
namespace {

const ProfileShape kShape{2, 1, 2, true};

Profile profile_of(double x, Rng& rng) {
  const auto jitter = [&] { return static_cast<float>(x + 0.01 * rng.normal()); };
  return {{{jitter(), jitter()}, {1, 1}}, {{{jitter()}, {1}}, {{jitter()}, {1}}}, {0.5F, 0.5F}, 400};
}

std::vector<Parent> parents_of(Rng& rng, std::size_t count) {
  std::vector<Parent> parents;
  for (std::uint32_t i = 0; i < count; ++i) {
    parents.push_back({ClientId{i}, nullptr, profile_of(i % 2 == 0 ? 0 : 3, rng), 100 + static_cast<int>(i)});
  }
  return parents;
}

std::vector<Receiver> receivers_of(Rng& rng, std::size_t count) {
  std::vector<Receiver> receivers;
  for (std::uint32_t i = 0; i < count; ++i) {
    receivers.push_back({ClientId{i}, profile_of(i % 3 == 0 ? 0 : 3, rng)});
  }
  return receivers;
}

// This is the property the reference implementation lacks: its weights depend on the order in which answers arrive.
RC_GTEST_PROP(MixingMatrix, DoesNotDependOnTheOrderOfParents, (std::uint16_t seed)) {
  Rng rng(seed);
  std::vector<Parent> parents = parents_of(rng, 8);
  const std::vector<Receiver> receivers = receivers_of(rng, 5);
  for (const char* preset : {"auto", "paper", "reference"}) {
    FeromaOptions options = feroma_preset(preset);
    const Matrix before = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
    std::vector<Parent> reversed(parents.rbegin(), parents.rend());
    const Matrix after = mixing_matrix(options, kShape, {}, receivers, reversed, Rng(1));
    for (std::size_t r = 0; r < before.rows; ++r) {
      for (std::size_t c = 0; c < before.cols; ++c) {
        RC_ASSERT(std::abs(before.at(r, c) - after.at(r, before.cols - 1 - c)) < 1e-9);
      }
    }
  }
}

RC_GTEST_PROP(MixingMatrix, RowsSumToOneForAnyNumberOfClients, (std::uint16_t seed)) {
  Rng rng(seed);
  const std::vector<Parent> parents = parents_of(rng, 1 + rng.below(12));
  const std::vector<Receiver> receivers = receivers_of(rng, 1 + rng.below(12));
  for (const char* preset : {"auto", "paper", "reference"}) {
    const Matrix mixing = mixing_matrix(feroma_preset(preset), kShape, {}, receivers, parents, Rng(1));
    for (std::size_t r = 0; r < mixing.rows; ++r) {
      const auto row = mixing.row(r);
      RC_ASSERT(std::abs(std::accumulate(row.begin(), row.end(), 0.0) - 1) < 1e-12);
    }
  }
}

TEST(MixingMatrix, IdenticalProfilesGiveFedAvgsWeights) {
  Rng rng(3);
  const Profile same = profile_of(1, rng);
  const std::vector<Parent> parents{{ClientId{0}, nullptr, same, 100}, {ClientId{1}, nullptr, same, 300}};
  const std::vector<Receiver> receivers{{ClientId{0}, same}};
  const Matrix mixing = mixing_matrix(feroma_preset("auto"), kShape, {}, receivers, parents, Rng(1));
  EXPECT_DOUBLE_EQ(mixing.at(0, 0), 0.25);
  EXPECT_DOUBLE_EQ(mixing.at(0, 1), 0.75);
}

TEST(MixingMatrix, AnUnchangedClientAloneInItsDistributionStaysPersonal) {
  Rng rng(3);
  std::vector<Parent> parents;
  std::vector<Receiver> receivers;
  for (std::uint32_t i = 0; i < 5; ++i) {
    const Profile profile = profile_of(10.0 * i, rng);
    parents.push_back({ClientId{i}, nullptr, profile, 100});
    receivers.push_back({ClientId{i}, profile});
  }
  const Matrix mixing = mixing_matrix(feroma_preset("auto"), kShape, {}, receivers, parents, Rng(1));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_GT(mixing.at(i, i), 0.999);
    EXPECT_EQ(strategy_of(mixing.row(i)), Strategy::personal);
  }
}

TEST(MixingMatrix, CountsMultiplyTheWeights) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 6);
  const std::vector<Receiver> receivers = receivers_of(rng, 6);
  FeromaOptions options;
  const Matrix trained = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
  options.counts = Counts::none;
  const Matrix none = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
  options.counts = Counts::profiled;
  const Matrix profiled = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
  EXPECT_NE(trained.values, none.values);
  for (std::size_t i = 0; i < none.values.size(); ++i) {
    EXPECT_NEAR(profiled.values[i], none.values[i], 1e-12);  // every profile has 400 samples
  }
}

TEST(MixingMatrix, PositionalJoinMovesWeightsToOtherModels) {
  Rng rng(5);
  const std::vector<Parent> parents = parents_of(rng, 8);
  const std::vector<Receiver> receivers = receivers_of(rng, 4);
  FeromaOptions options = feroma_preset("reference");
  options.counts = Counts::none;
  const Matrix by_id = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
  options.join = Join::positional;
  const Matrix positional = mixing_matrix(options, kShape, {}, receivers, parents, Rng(1));
  EXPECT_NE(by_id.values, positional.values);
  for (std::size_t r = 0; r < 4; ++r) {  // the same multiset of weights, on other models
    std::vector<double> a(by_id.row(r).begin(), by_id.row(r).end());
    std::vector<double> b(positional.row(r).begin(), positional.row(r).end());
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    EXPECT_EQ(a, b);
  }
}

TEST(Strategy, FollowsEffectiveParents) {
  EXPECT_EQ(strategy_of(std::vector<double>{0.9, 0.1, 0, 0}), Strategy::personal);   // 1.22 parents
  EXPECT_EQ(strategy_of(std::vector<double>{0.5, 0.5, 0, 0}), Strategy::clustered);  // 2
  EXPECT_EQ(strategy_of(std::vector<double>(4, 0.25)), Strategy::global);            // 4 > 0.8 * 4
}

TEST(Assignment, NearestTakesOneModelAndKernelAveragesTheGroup) {
  Rng rng(9);
  const std::vector<Parent> parents = parents_of(rng, 6);
  const Profile query = profile_of(3, rng);
  const FeromaOptions options;
  const auto nearest = assignment_weights(options, AssignRule::nearest, kShape, {}, query, parents, true);
  EXPECT_EQ(std::accumulate(nearest.begin(), nearest.end(), 0.0), 1);
  EXPECT_EQ(*std::max_element(nearest.begin(), nearest.end()), 1);
  const auto kernel = assignment_weights(options, AssignRule::kernel, kShape, {}, query, parents, true);
  EXPECT_NEAR(kernel[1] + kernel[3] + kernel[5], 1, 1e-6);
  EXPECT_LT(*std::max_element(kernel.begin(), kernel.end()), 0.9);
}

}  // namespace
}  // namespace feroma
