#include "feroma/core/clock.h"

#include <gtest/gtest.h>

#include <thread>

#include "feroma/core/stop.h"
#include "tests/clocks.h"

namespace feroma {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using test::FakeClock;
using test::ScaledClock;

/// One whose second takes twice as long, and one with two seconds in one of the machine's.
const ScaledClock& slow() {
  static const ScaledClock clock(2);
  return clock;
}
const ScaledClock& quick() {
  static const ScaledClock clock(0.5);
  return clock;
}

/// Something that one thread waits for and another brings about.
struct Awaited {
  bool wait(const Clock& clock, Clock::time_point until, const std::stop_token& end = {}) {
    std::unique_lock lock(mutex);
    return clock.wait_until(
        lock, changed, until, [this] { return there; }, end);
  }
  void bring() {
    {
      const std::lock_guard lock(mutex);
      there = true;
    }
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable_any changed;
  bool there = false;
};

class EveryClock : public ::testing::TestWithParam<const Clock*> {};

TEST_P(EveryClock, IsNeverSetBack) {
  const Clock& clock = *GetParam();
  const Clock::time_point first = clock.now();
  EXPECT_GE(clock.now(), first);
  EXPECT_GT(first, Clock::time_point()) << "which stands for no time at all";
}

TEST_P(EveryClock, WaitsForWhatIsThereAlreadyNotAtAll) {
  Awaited awaited;
  awaited.there = true;
  EXPECT_TRUE(awaited.wait(*GetParam(), Clock::time_point::max()));
  EXPECT_TRUE(awaited.wait(*GetParam(), Clock::time_point()));
}

TEST_P(EveryClock, DoesNotWaitForTimesThatAreOver) {
  EXPECT_FALSE(Awaited().wait(*GetParam(), GetParam()->now()));
  EXPECT_TRUE(GetParam()->rest_for(0, {}));
}

TEST_P(EveryClock, IsWokenByWhatItIsToldOf) {
  Awaited awaited;
  const std::jthread bringer([&] { awaited.bring(); });
  EXPECT_TRUE(awaited.wait(*GetParam(), Clock::time_point::max()));
}

TEST_P(EveryClock, IsWokenByAStop) {
  Stop stop;
  const Stop never;
  const std::jthread asker([&] { stop.request(); });
  EXPECT_FALSE(Awaited().wait(*GetParam(), Clock::time_point::max(), stop.token()));
  EXPECT_FALSE(GetParam()->rest_for(3600, stop.token())) << "it was asked for before";
  EXPECT_FALSE(GetParam()->rest_for(3600, never.token(), stop.token()));
}

TEST_P(EveryClock, IsWokenInARestByEitherStop) {
  for (const bool other : {false, true}) {
    Stop stop;
    const Stop never;
    const std::jthread asker([&] { stop.request(); });
    EXPECT_FALSE(GetParam()->rest_until(Clock::time_point::max(), other ? never.token() : stop.token(),
                                        other ? stop.token() : std::stop_token()));
  }
}

const FakeClock kStanding;
INSTANTIATE_TEST_SUITE_P(Kinds, EveryClock, ::testing::Values(&Clock::machine(), &slow(), &quick(), &kStanding));

TEST(MachineClock, LetsTheWholeTimePass) {
  const Clock& clock = Clock::machine();
  const Clock::time_point begin = clock.now();
  EXPECT_TRUE(clock.rest_for(0.01, {}));
  EXPECT_GE(clock.now() - begin, std::chrono::milliseconds(10));
  EXPECT_EQ(clock.real(hours(1)), hours(1));
}

TEST(Seconds, AreAYearAtMost) {
  EXPECT_EQ(Clock::seconds(1.5), std::chrono::milliseconds(1500));
  EXPECT_EQ(Clock::seconds(0), Clock::duration());
  EXPECT_EQ(Clock::seconds(1e300), hours(24 * 366));
  EXPECT_GT(Clock::machine().now() + Clock::seconds(1e300), Clock::machine().now());
}

TEST(ScaledClock, TellsTheMachinesTimeInItsOwnSeconds) {
  EXPECT_EQ(slow().real(seconds(3)), seconds(6));
  EXPECT_EQ(quick().real(seconds(3)), std::chrono::milliseconds(1500));
  const ScaledClock clock(0.001);
  const Clock::time_point before = Clock::machine().now();
  const Clock::time_point begin = clock.now();
  EXPECT_TRUE(clock.rest_for(10, {}));
  const Clock::duration own = clock.now() - begin;
  const Clock::duration passed = Clock::machine().now() - before;
  EXPECT_GE(own, seconds(10));
  EXPECT_GE(passed, std::chrono::milliseconds(10));
  EXPECT_LE(own, 1000 * passed + seconds(1)) << "which came before and after";
}

TEST(FakeClock, MovesWhenItIsTurned) {
  FakeClock clock;
  const Clock::time_point begin = clock.now();
  clock.advance(2.5);
  EXPECT_EQ(clock.now() - begin, std::chrono::milliseconds(2500));
}

TEST(FakeClock, WakesAllWhoseTimeHasCome) {
  FakeClock clock;
  std::atomic<int> awake = 0;
  std::vector<std::jthread> sleepers;
  for (int i = 1; i <= 4; ++i) {
    sleepers.emplace_back([&, until = clock.now() + seconds(i)] {
      EXPECT_TRUE(clock.rest_until(until, {}));
      ++awake;
    });
  }
  ASSERT_TRUE(clock.await_sleepers(4));
  clock.advance(0.5);
  EXPECT_EQ(awake, 0);
  clock.advance(2.5);
  for (int i = 0; i < 3; ++i) {
    sleepers[static_cast<std::size_t>(i)].join();
  }
  EXPECT_EQ(awake, 3);
  clock.advance(1);
  sleepers.back().join();
  EXPECT_EQ(awake, 4);
}

// Whoever looks at the time just before it is turned must not sleep through it.
TEST(FakeClock, WakesWhoIsAboutToFallAsleep) {
  FakeClock clock;
  constexpr int kTurns = 500;
  std::jthread sleeper([&] {
    for (int i = 0; i < kTurns; ++i) {
      EXPECT_TRUE(clock.rest_for(1, {}));
    }
  });
  std::atomic<bool> over = false;
  const std::jthread turner([&] {
    while (!over) {
      clock.advance(1);
    }
  });
  sleeper.join();
  over = true;
}

}  // namespace
}  // namespace feroma
