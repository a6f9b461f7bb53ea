#include "feroma/privacy/paper_mechanism.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(PaperMechanism, CostsThousandsOfTimesWhatItClaims) {
  const ComposedEpsilon small = composed_epsilon(1, {10, 10, 10}, 300);
  EXPECT_NEAR(small.worst, 6183, 0.5);
  EXPECT_NEAR(small.label_free, 183, 0.5);
  EXPECT_NEAR(small.balanced, 1460, 0.5);
  const ComposedEpsilon large = composed_epsilon(10, {10, 10, 10}, 2000);
  EXPECT_NEAR(large.worst, 404571, 5);
  EXPECT_NEAR(large.balanced, 34785, 5);
  EXPECT_NEAR(large.label_free, 4571, 1);
}

TEST(PaperMechanism, CountsEveryCoordinateOfTheMarginal) {
  const ComposedEpsilon narrow = composed_epsilon(1, {10, 10, 10}, 300);
  const ComposedEpsilon wide = composed_epsilon(1, {400, 10, 10}, 300);
  EXPECT_NEAR(wide.label_free, 40 * narrow.label_free, 1e-6);
  EXPECT_NEAR(wide.worst - narrow.worst, 39 * narrow.label_free, 1e-6);
}

TEST(PaperMechanism, RefusesFewerSamplesThanClasses) {
  expect_error(ErrorCode::invalid_config, "at least one sample per class", [] {
    return composed_epsilon(1, {10, 10, 10}, 9).worst;
  });
}

}  // namespace
}  // namespace feroma
