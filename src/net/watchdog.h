#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "feroma/core/stop.h"
#include "net/intake.h"

namespace feroma::net {

/// Ends a client's connection when the client is to stop, or when the server was silent for longer than it may be.
class Watchdog {
 public:
  Watchdog(ServerLink& link, const Stop& stop, const Clock& clock, Clock::duration patience);

  /// The server said something, or took a piece of something large.
  void heard() { heard_ = clock_.now(); }
  void set_patience(Clock::duration patience);
  /// From now on a client that is to stop has so long to say goodbye.
  void allow_farewell(Clock::duration time);

 private:
  void watch(const std::stop_token& end);
  /// When the connection ends if nothing is heard. Needs the lock.
  [[nodiscard]] Clock::time_point deadline() const;
  void look_again();

  ServerLink& link_;
  const Stop& stop_;
  const Clock& clock_;
  std::atomic<Clock::time_point> heard_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool has_changed_ = false;
  Clock::duration patience_;
  Clock::duration farewell_ = Clock::duration::zero();
  std::optional<Clock::time_point> stopping_;  ///< since when the client is to stop
  std::stop_callback<std::function<void()>> wake_to_stop_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace feroma::net
