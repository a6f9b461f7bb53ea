#include "feroma/core/stop.h"

#include <gtest/gtest.h>

namespace feroma {
namespace {

TEST(Stop, IsAFlagForThoseWhoOnlyLook) {
  Stop stop;
  const std::atomic<bool>& flag = stop;
  EXPECT_FALSE(flag);
  stop.request();
  EXPECT_TRUE(flag);
  EXPECT_TRUE(stop.requested());
}

TEST(Stop, IsATokenForThoseWhoWait) {
  Stop stop;
  const std::stop_token token = stop.token();
  EXPECT_FALSE(token.stop_requested());
  stop.request();
  EXPECT_TRUE(token.stop_requested());
}

}  // namespace
}  // namespace feroma
