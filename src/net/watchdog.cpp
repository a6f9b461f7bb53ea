#include "net/watchdog.h"

#include <algorithm>

namespace feroma::net {

Watchdog::Watchdog(ServerLink& link, const Stop& stop, const Clock& clock, Clock::duration patience)
    : link_(link),
      stop_(stop),
      clock_(clock),
      heard_(clock.now()),
      patience_(patience),
      wake_to_stop_(stop.token(), [this] { look_again(); }),
      thread_([this](const std::stop_token& end) { watch(end); }) {}

void Watchdog::look_again() {
  const std::lock_guard lock(mutex_);
  has_changed_ = true;
  changed_.notify_all();
}

void Watchdog::set_patience(Clock::duration patience) {
  heard();
  {
    const std::lock_guard lock(mutex_);
    patience_ = patience;
  }
  look_again();
}

void Watchdog::allow_farewell(Clock::duration time) {
  {
    const std::lock_guard lock(mutex_);
    farewell_ = time;
  }
  look_again();
}

Clock::time_point Watchdog::deadline() const {
  const Clock::time_point heard = heard_;
  const Clock::time_point silence =
      patience_ < Clock::time_point::max() - heard ? heard + patience_ : Clock::time_point::max();
  return stopping_ ? std::min(silence, *stopping_ + farewell_) : silence;
}

void Watchdog::watch(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (!end.stop_requested()) {
    if (stop_.requested() && !stopping_) {
      stopping_ = clock_.now();
    }
    const Clock::time_point now = clock_.now();  // before the deadline, which what is heard meanwhile only puts off
    const Clock::time_point until = deadline();
    if (now >= until) {
      lock.unlock();
      link_.cancel();
      return;
    }
    has_changed_ = false;
    clock_.wait_until(
        lock, changed_, until, [this] { return has_changed_; }, end);
  }
}

}  // namespace feroma::net
