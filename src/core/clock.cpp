#include "feroma/core/clock.h"

#include <algorithm>

namespace feroma {
namespace {

/// The longest that is waited at once: sums with it stay within what a duration holds.
constexpr Clock::duration kYear = std::chrono::hours(24 * 366);

}  // namespace

const Clock& Clock::machine() {
  static const Clock clock;
  return clock;
}

Clock::duration Clock::seconds(double count) {
  const std::chrono::duration<double> time(count);
  return time < kYear ? std::chrono::duration_cast<duration>(time) : kYear;
}

Clock::time_point Clock::now() const { return time_point(std::chrono::steady_clock::now().time_since_epoch()); }

bool Clock::wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, time_point until,
                       const std::function<bool()>& awaited, std::stop_token end) const {
  // A wait may end a little early where the machine's time is not this clock's.
  while (!awaited()) {
    const duration left = until - now();
    if (left <= left.zero() || end.stop_requested()) {
      return false;
    }
    changed.wait_for(lock, end, real(std::min(left, kYear)), awaited);
  }
  return true;
}

bool Clock::rest_until(time_point time, const std::stop_token& end, const std::stop_token& other) const {
  std::mutex mutex;
  std::condition_variable_any ended;
  const std::stop_callback wake(other, [&] {
    const std::lock_guard lock(mutex);
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  wait_until(
      lock, ended, time, [&] { return other.stop_requested(); }, end);
  return !end.stop_requested() && !other.stop_requested();
}

bool Clock::rest_for(double seconds, const std::stop_token& end, const std::stop_token& other) const {
  return rest_until(now() + Clock::seconds(seconds), end, other);
}

}  // namespace feroma
