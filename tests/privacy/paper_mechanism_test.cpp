#include "feroma/privacy/paper_mechanism.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(PaperMechanism, CostsThousandsOfTimesWhatItClaims) {
  const ComposedEpsilon small = composed_epsilon(1, 10, 10, 300);
  EXPECT_NEAR(small.worst, 6183, 0.5);
  EXPECT_NEAR(small.label_free, 183, 0.5);
  EXPECT_NEAR(small.balanced, 1460, 0.5);
  const ComposedEpsilon large = composed_epsilon(10, 10, 10, 2000);
  EXPECT_NEAR(large.worst, 404571, 5);
  EXPECT_NEAR(large.balanced, 34785, 5);
  EXPECT_NEAR(large.label_free, 4571, 1);
}

TEST(PaperMechanism, RefusesFewerSamplesThanClasses) {
  expect_error(ErrorCode::invalid_config, "at least one sample per class",
               [] { return composed_epsilon(1, 10, 10, 9).worst; });
}

}  // namespace
}  // namespace feroma
