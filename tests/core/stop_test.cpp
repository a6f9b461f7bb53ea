#include "feroma/core/stop.h"

#include <gtest/gtest.h>

#include <thread>

namespace feroma {
namespace {

using StopClock = std::chrono::steady_clock;
constexpr auto kLong = std::chrono::hours(1);

TEST(Stop, IsAFlagForThoseWhoOnlyLook) {
  Stop stop;
  const std::atomic<bool>& flag = stop;
  EXPECT_FALSE(flag);
  stop.request();
  EXPECT_TRUE(flag);
  EXPECT_TRUE(stop.requested());
}

TEST(Stop, EndsARestThatWasBegun) {
  Stop stop;
  std::jthread asker([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request();
  });
  EXPECT_FALSE(rest_until(StopClock::now() + kLong, stop.token()));
}

TEST(Stop, EndsARestThatWaitsForAnotherAsWell) {
  Stop stop;
  const Stop never;
  std::jthread asker([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    stop.request();
  });
  EXPECT_FALSE(rest_until(StopClock::now() + kLong, never.token(), stop.token()));
}

TEST(Stop, ThatWasAskedForBeforeLeavesNoRest) {
  Stop stop;
  stop.request();
  const Stop never;
  EXPECT_FALSE(rest_until(StopClock::now() + kLong, stop.token()));
  EXPECT_FALSE(rest_until(StopClock::now() + kLong, never.token(), stop.token()));
}

TEST(Stop, NobodyAsksForLeavesTheWholeRest) {
  const Stop never;
  const auto begin = StopClock::now();
  EXPECT_TRUE(rest_for(0.01, never.token()));
  EXPECT_GE(StopClock::now() - begin, std::chrono::milliseconds(10));
}

}  // namespace
}  // namespace feroma
