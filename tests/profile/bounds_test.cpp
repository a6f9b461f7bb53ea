#include "feroma/profile/bounds.h"

#include <gtest/gtest.h>

#include "feroma/core/error.h"

namespace feroma {
namespace {

TEST(Bounds, AreTheRangeOfEveryCoordinate) {
  const Bounds bounds = bounds_of({2, {1, -2, 3, 5, 2, -7}});
  EXPECT_EQ(bounds.lower, (std::vector<float>{1, -7}));
  EXPECT_EQ(bounds.upper, (std::vector<float>{3, 5}));
}

TEST(Bounds, OfNoSamplesAreAnError) { EXPECT_THROW((void)bounds_of({2, {}}), Error); }

TEST(Bounds, MergeToTheSmallestCommonBox) {
  const std::vector<Bounds> parts{{{0, 0}, {1, 1}}, {{-1, 0.5F}, {0.5F, 3}}};
  const Bounds merged = merge(parts);
  EXPECT_EQ(merged.lower, (std::vector<float>{-1, 0}));
  EXPECT_EQ(merged.upper, (std::vector<float>{1, 3}));
}

TEST(Bounds, CubeStartsAtZero) {
  const Bounds bounds = cube(3, 2.5);
  EXPECT_EQ(bounds.lower, (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(bounds.upper, (std::vector<float>{2.5, 2.5, 2.5}));
}

}  // namespace
}  // namespace feroma
