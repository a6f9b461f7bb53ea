#include "feroma/profile/projector.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

double dot(const Projector& p, int a, int b) {
  double sum = 0;
  for (int c = 0; c < p.input; ++c) {
    sum += static_cast<double>(p.components[static_cast<std::size_t>(a * p.input + c)]) *
           static_cast<double>(p.components[static_cast<std::size_t>(b * p.input + c)]);
  }
  return sum;
}

TEST(Projector, OrthonormalRowsAreOrthonormal) {
  const Projector p = orthonormal_projector(40, 10, Rng(3));
  for (int a = 0; a < 10; ++a) {
    for (int b = 0; b <= a; ++b) {
      EXPECT_NEAR(dot(p, a, b), a == b ? 1 : 0, 1e-5);
    }
  }
}

TEST(Projector, SameStreamGivesTheSameMap) {
  EXPECT_EQ(orthonormal_projector(20, 5, Rng(1)).components, orthonormal_projector(20, 5, Rng(1)).components);
  EXPECT_NE(orthonormal_projector(20, 5, Rng(1)).components, orthonormal_projector(20, 5, Rng(2)).components);
}

TEST(Projector, CannotHaveMoreOutputsThanInputs) {
  EXPECT_THROW((void)orthonormal_projector(4, 5, Rng(1)), Error);
  EXPECT_THROW((void)pca_projector({4, std::vector<float>(12)}, 4), Error);
}

TEST(Projector, PcaFindsTheAxisOfAStretchedCloud) {
  // Points on the line t * (3, 4) / 5 with a little spread across it.
  Rows points{2, {}};
  for (int t = -10; t <= 10; ++t) {
    const float side = t % 2 == 0 ? 0.01F : -0.01F;
    points.values.push_back(static_cast<float>(t) * 0.6F - side * 0.8F);
    points.values.push_back(static_cast<float>(t) * 0.8F + side * 0.6F);
  }
  const Projector p = pca_projector(points, 1);
  EXPECT_NEAR(std::abs(p.components[0]), 0.6, 1e-3);
  EXPECT_NEAR(std::abs(p.components[1]), 0.8, 1e-3);
}

TEST(Projector, PcaDoesNotSeeWhereTheCloudLies) {
  // Stretched along the second coordinate, far out along the first.
  const Projector p = pca_projector({2, {100, -1, 100, 0, 100, 1}}, 1);
  EXPECT_NEAR(p.components[0], 0, 1e-6);
  EXPECT_NEAR(std::abs(p.components[1]), 1, 1e-6);
  EXPECT_EQ(p.centre, (std::vector<float>{100, 0}));
}

// The point farthest from the mean gets a positive coordinate.
TEST(Projector, PcaSignsFollowScikitLearn) {
  EXPECT_FLOAT_EQ(pca_projector({1, {0, 0, 3}}, 1).components[0], 1);
  EXPECT_FLOAT_EQ(pca_projector({1, {0, 0, -3}}, 1).components[0], -1);
}

TEST(Projector, SubtractsItsCentre) {
  const Projector p{2, 1, {1, 1}, {10, 20}};
  EXPECT_EQ(project(p, {2, {10, 20, 11, 22}}).values, (std::vector<float>{0, 3}));
}

TEST(Projector, IdentityKeepsRows) {
  EXPECT_EQ(project(identity_projector(2), {2, {1, 2, 3, 4}}).values, (std::vector<float>{1, 2, 3, 4}));
}

TEST(UniformPoints, StayInsideTheBox) {
  const Rows points = uniform_points({{-1, 5}, {0, 6}}, 100, Rng(9));
  ASSERT_EQ(points.count(), 100U);
  for (std::size_t i = 0; i < points.count(); ++i) {
    EXPECT_GE(points.row(i)[0], -1);
    EXPECT_LE(points.row(i)[0], 0);
    EXPECT_GE(points.row(i)[1], 5);
    EXPECT_LE(points.row(i)[1], 6);
  }
  const Bounds reached = bounds_of(points);
  EXPECT_LT(reached.lower[1], 5.1F);
  EXPECT_GT(reached.upper[1], 5.9F);
}

}  // namespace
}  // namespace feroma
