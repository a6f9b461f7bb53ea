#include "feroma/metrics/auc.h"

#include <gtest/gtest.h>

#include <vector>

namespace feroma {
namespace {

using Scores = std::vector<double>;

TEST(AreaUnderCurve, IsOneWhenEveryPositiveWins) { EXPECT_EQ(area_under_curve(Scores{3, 4}, Scores{1, 2}), 1.0); }

TEST(AreaUnderCurve, CountsTiesHalf) { EXPECT_EQ(area_under_curve(Scores{1, 2}, Scores{1, 1}), 0.75); }

TEST(AreaUnderCurve, IsAbsentWithoutBothKinds) {
  EXPECT_FALSE(area_under_curve({}, Scores{1}));
  EXPECT_FALSE(area_under_curve(Scores{1}, {}));
}

}  // namespace
}  // namespace feroma
