#include "feroma/mapping/neighbours.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

/// Two clients, each at its own parent; the other one is `ratio` times the noise away.
struct TwoClients {
  explicit TwoClients(double ratio, float first_share = 0.1F, float second_share = 0.9F)
      : distances{Matrix(2, 2, 1), Matrix(2, 2, 1)}, profiles(2) {
    distances.squared.at(0, 1) = distances.squared.at(1, 0) = ratio * ratio;
    for (Profile& profile : profiles) {
      profile.num_samples = 100;
    }
    profiles[0].prior = {first_share, 1 - first_share};
    profiles[1].prior = {second_share, 1 - second_share};
  }
  [[nodiscard]] std::optional<double> width(std::vector<std::size_t> own = {0, 1}) const {
    return width_to_neighbours({}, distances, profiles, profiles, own);
  }

  Distances distances;
  std::vector<Profile> profiles;
};

TEST(WidthToNeighbours, ReachesTheNearestOtherWhereEverybodyIsAlone) {
  EXPECT_DOUBLE_EQ(TwoClients(3).width().value(), 3);
  EXPECT_DOUBLE_EQ(TwoClients(2).width().value(), 2);
}

TEST(WidthToNeighbours, IsNothingWhereSomebodyHasTheSameDistribution) { EXPECT_FALSE(TwoClients(1.6).width()); }

TEST(WidthToNeighbours, IsNothingAmongStrangers) { EXPECT_FALSE(TwoClients(4).width()); }

// The same classes in the same shares, and still apart: they mean different things.
TEST(WidthToNeighbours, IsNothingWhereClassSharesAreEqual) {
  EXPECT_FALSE(TwoClients(3, 0.5F, 0.5F).width());
  EXPECT_FALSE(TwoClients(3, 0.5F, 0.6F).width()) << "1.4 times the noise of a hundred samples";
  EXPECT_TRUE(TwoClients(3, 0.5F, 0.8F).width()) << "4.7 times";
}

TEST(WidthToNeighbours, IsNothingWithoutClassShares) {
  TwoClients clients(3);
  for (Profile& profile : clients.profiles) {
    profile.prior = {0, 0};
  }
  EXPECT_FALSE(clients.width());
}

// A newcomer without a model of its own that finds its distribution among the parents is not alone.
TEST(WidthToNeighbours, CountsEveryParentOfANewcomer) { EXPECT_FALSE(TwoClients(3).width({2, 2})); }

TEST(WidthToNeighbours, IsNothingWithoutAnotherParentOrNoise) {
  TwoClients clients(3);
  clients.distances.floor = Matrix(2, 2);
  EXPECT_FALSE(clients.width()) << "a metric that knows no noise";
  const TwoClients one(3);
  const Distances single{Matrix(1, 1, 9), Matrix(1, 1, 1)};
  const std::vector<std::size_t> own{0};
  EXPECT_FALSE(
      width_to_neighbours({}, single, std::span(one.profiles).first(1), std::span(one.profiles).first(1), own));
}

// Noise differs between clients: what counts is each one's distance over its own noise, not the typical distance over
// the typical noise, which here would be 2.
TEST(WidthToNeighbours, MeasuresEachPairByItsOwnNoise) {
  Distances distances{Matrix(3, 3, 100), Matrix(3, 3, 1)};
  const auto pair = [&](std::size_t r, std::size_t c, double distance, double noise) {
    distances.squared.at(r, c) = distance * distance;
    distances.floor.at(r, c) = noise * noise;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    pair(i, i, 1, 1);
  }
  pair(0, 1, 2, 1);
  pair(1, 0, 2.4, 2);
  pair(2, 0, 1.1, 1);
  std::vector<Profile> profiles(3);
  for (std::size_t i = 0; i < 3; ++i) {
    profiles[i].num_samples = 1000;
    profiles[i].prior = {0.2F + 0.3F * static_cast<float>(i), 0.8F - 0.3F * static_cast<float>(i)};
  }
  EXPECT_FALSE(width_to_neighbours({}, distances, profiles, profiles, std::vector<std::size_t>{0, 1, 2}));
  pair(1, 0, 4.8, 2);
  EXPECT_DOUBLE_EQ(width_to_neighbours({}, distances, profiles, profiles, std::vector<std::size_t>{0, 1, 2}).value(),
                   2);
}

TEST(ClassShares, AreAlikeUpToChance) {
  EXPECT_TRUE(class_shares_alike(TwoClients(1, 0.5F, 0.6F).profiles)) << "1.4 times the noise of a hundred samples";
  EXPECT_FALSE(class_shares_alike(TwoClients(1, 0.5F, 0.8F).profiles)) << "4.7 times";
}

// Most pairs decide: one odd client among many does not make it a federation of different shares.
TEST(ClassShares, OfMostPairsDecide) {
  std::vector<Profile> profiles(5, TwoClients(1, 0.5F, 0.5F).profiles[0]);
  profiles.push_back(TwoClients(1, 0.05F).profiles[0]);
  EXPECT_TRUE(class_shares_alike(profiles));
  profiles = {profiles[0], profiles[5], TwoClients(1, 0.95F).profiles[0]};
  EXPECT_FALSE(class_shares_alike(profiles));
}

TEST(ClassShares, OfOneClientAreLikeNobodys) {
  EXPECT_FALSE(class_shares_alike({}));
  EXPECT_FALSE(class_shares_alike(std::vector<Profile>(1)));
}

}  // namespace
}  // namespace feroma
