#pragma once

#include <algorithm>
#include <atomic>
#include <list>

#include "feroma/core/clock.h"

namespace feroma::test {

/// One whose second takes `factor` seconds.
class ScaledClock final : public Clock {
 public:
  explicit ScaledClock(double factor) : factor_(factor) {}

  [[nodiscard]] time_point now() const override { return began_ + times(Clock::now() - began_, 1 / factor_); }
  [[nodiscard]] duration real(duration time) const override { return times(time, factor_); }

 private:
  static duration times(duration time, double factor) {
    return seconds(std::chrono::duration<double>(time).count() * factor);
  }

  const double factor_;
  const time_point began_ = Clock::now();
};

/// The one that federations of tests go by: twenty times as fast as the machine's.
inline const Clock& fast_clock() {
  static const ScaledClock clock(0.05);
  return clock;
}

/// One that stands still until somebody turns it forward. It may not be turned by who holds a sleeper's lock.
class FakeClock final : public Clock {
 public:
  [[nodiscard]] time_point now() const override { return now_; }
  bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, time_point until,
                  const std::function<bool()>& awaited, std::stop_token end = {}) const override {
    const auto own = begin(changed, until);
    changed.wait(lock, end, [&] { return awaited() || now() >= until; });
    this->end(own);
    return awaited();
  }

  /// Returns once all whose time has come are awake.
  void advance(double seconds) {
    std::unique_lock lock(mutex_);
    now_ = now() + Clock::seconds(seconds);
    const auto is_due = [this](const Sleeper& one) { return one.until <= now(); };
    while (std::any_of(sleepers_.begin(), sleepers_.end(), is_due)) {
      for (const Sleeper& one : sleepers_) {
        one.changed.notify_all();
      }
      woken_.wait_for(lock, std::chrono::milliseconds(1));  // one that was about to fall asleep has not heard it
    }
  }
  /// Waits until so many sleep; false where they do not within twenty seconds.
  [[nodiscard]] bool await_sleepers(std::size_t count) const {
    std::unique_lock lock(mutex_);
    return slept_.wait_for(lock, std::chrono::seconds(20), [&] { return sleepers_.size() >= count; });
  }

 private:
  struct Sleeper {
    std::condition_variable_any& changed;
    time_point until;
  };
  using Sleepers = std::list<Sleeper>;

  Sleepers::const_iterator begin(std::condition_variable_any& changed, time_point until) const {
    const std::lock_guard lock(mutex_);
    slept_.notify_all();
    return sleepers_.insert(sleepers_.end(), Sleeper{changed, until});
  }
  void end(Sleepers::const_iterator own) const {
    const std::lock_guard lock(mutex_);
    sleepers_.erase(own);
    woken_.notify_all();
  }

  std::atomic<time_point> now_ = time_point(std::chrono::hours(1));
  mutable std::mutex mutex_;
  mutable std::condition_variable slept_;
  mutable std::condition_variable woken_;
  mutable Sleepers sleepers_;
};

}  // namespace feroma::test
