#include "feroma/mapping/distance.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "feroma/core/error.h"
#include "feroma/core/rng.h"

namespace feroma {
namespace {

TEST(Euclidean, IsThePythagoreanDistance) {
  EXPECT_DOUBLE_EQ(euclidean(std::vector<double>{0, 0}, std::vector<double>{3, 4}), 5);
}

TEST(Cosine, IsZeroForParallelOneForOrthogonalTwoForOpposite) {
  const std::vector<double> a{1, 0};
  EXPECT_DOUBLE_EQ(cosine(a, std::vector<double>{5, 0}), 0);
  EXPECT_DOUBLE_EQ(cosine(a, std::vector<double>{0, 2}), 1);
  EXPECT_DOUBLE_EQ(cosine(a, std::vector<double>{-1, 0}), 2);
}

TEST(Cosine, OfAZeroVectorIsOne) {
  EXPECT_EQ(cosine(std::vector<double>{0, 0}, std::vector<double>{1, 1}), 1);
  EXPECT_EQ(cosine(std::vector<double>{1, 1}, std::vector<double>{0, 0}), 1);
}

TEST(Distance, RefusesProfilesOfDifferentLength) {
  EXPECT_THROW((void)euclidean(std::vector<double>{1}, std::vector<double>{1, 2}), Error);
}

RC_GTEST_PROP(Distance, IsSymmetricAndZeroOnItself, (std::uint16_t seed)) {
  Rng rng(seed);
  std::vector<double> a(8);
  std::vector<double> b(8);
  for (std::size_t i = 0; i < 8; ++i) {
    a[i] = rng.normal();
    b[i] = rng.normal();
  }
  RC_ASSERT(euclidean(a, b) == euclidean(b, a));
  RC_ASSERT(cosine(a, b) == cosine(b, a));
  RC_ASSERT(euclidean(a, a) == 0);
  RC_ASSERT(std::abs(cosine(a, a)) < 1e-12);
}

TEST(ReliableDistance, WeighsCoordinatesByWhatTheyTell) {
  const Reliability reliability{{1, 0}, {4, 1}};
  const NoisyDistance d = reliable_distance(reliability, {{0, 0}, {0.1, 0.1}}, {{2, 100}, {0.3, 0.1}});
  EXPECT_DOUBLE_EQ(d.squared, 1);  // 2^2 / variance 4; the unreliable coordinate does not count
  EXPECT_DOUBLE_EQ(d.floor, 0.4 / 4);
  EXPECT_DOUBLE_EQ(d.excess(), 0.9);
}

// Shares 0.5 and 0.25: (0.5 * 2^2 / 4 + 0.25 * 3^2 / 1) / 0.75, and the noise in the same way.
TEST(ReliableDistance, IsAMeanWeighedByReliability) {
  const Reliability reliability{{0.5, 0.25}, {4, 1}};
  const NoisyDistance d = reliable_distance(reliability, {{0, 0}, {1, 1}}, {{2, 3}, {3, 2}});
  EXPECT_DOUBLE_EQ(d.squared, 2.75 / 0.75);
  EXPECT_DOUBLE_EQ(d.floor, 1.25 / 0.75);
}

TEST(ReliableDistance, SkipsClassesThatOneSideLacks) {
  const Reliability reliability{{1, 1}, {1, 1}};
  EXPECT_DOUBLE_EQ(reliable_distance(reliability, {{0, 0}, {0, -1}}, {{3, 50}, {0, 0}}).squared, 9);
  EXPECT_DOUBLE_EQ(reliable_distance(reliability, {{0, 0}, {0, 0}}, {{3, 50}, {0, -1}}).squared, 9);
}

TEST(ReliableDistance, IsZeroWhereNothingTellsClientsApart) {
  EXPECT_EQ(reliable_distance({{0}, {0}}, {{0}, {0}}, {{3}, {0}}).squared, 0);
}

}  // namespace
}  // namespace feroma
