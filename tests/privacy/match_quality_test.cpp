#include "feroma/privacy/match_quality.h"

#include <gtest/gtest.h>

#include "feroma/privacy/accountant.h"
#include "feroma/privacy/noisy_moments.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

double match(double epsilon, int releases, std::int64_t records, const GroupSpread& groups) {
  const SumShape shape;
  const ReleasePlan plan = plan_gaussian(epsilon, 1e-5, releases);
  return expected_match(shape, release_noise(shape, Neighbours::add_remove, plan.release), records, groups);
}

// Measured with real latents, six repetitions: 0.71 and 0.97, 0.97 and 1.00 at 300 records. Real coordinates move
// together, so the estimate is on the low side where noise is strong.
TEST(MatchQuality, IsNearWhatWasMeasured) {
  EXPECT_NEAR(match(1, 1, 300, kRotatedGroups), 0.71, 0.2);
  EXPECT_LT(match(1, 1, 300, kRotatedGroups), 0.71);
  EXPECT_NEAR(match(1, 1, 300, kPermutedGroups), 0.97, 0.1);
  EXPECT_NEAR(match(2, 1, 300, kRotatedGroups), 0.97, 0.1);
  EXPECT_NEAR(match(5, 20, 1000, kRotatedGroups), 1, 0.05);
  EXPECT_NEAR(match(1, 20, 300, kRotatedGroups), 0.25, 0.15) << "chance";
}

TEST(MatchQuality, RisesWithTheBudgetAndTheRecords) {
  EXPECT_LT(match(0.5, 5, 300, kRotatedGroups), match(2, 5, 300, kRotatedGroups));
  EXPECT_LT(match(1, 5, 300, kRotatedGroups), match(1, 5, 1000, kRotatedGroups));
  EXPECT_EQ(expected_match({}, 0, 300, kRotatedGroups), 1);
}

TEST(MatchQuality, NeedsRecords) {
  expect_error(ErrorCode::invalid_config, "one record per class",
               [] { return expected_match({}, 1, 5, kRotatedGroups); });
}

}  // namespace
}  // namespace feroma
