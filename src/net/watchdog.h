#pragma once

#include <atomic>
#include <thread>

#include "net/intake.h"

namespace feroma::net {

/// Ends a client's connection when the client is to stop, or when the server was silent for longer than it may be.
class Watchdog {
 public:
  Watchdog(ServerLink& link, const std::atomic<bool>& stop, Clock::duration patience);

  /// The server said something, or took a piece of something large.
  void heard() { heard_ = Clock::now(); }
  void set_patience(Clock::duration patience);
  /// From now on a client that is to stop has so long to say goodbye.
  void allow_farewell(Clock::duration time) { farewell_ = time; }

 private:
  void watch(const std::stop_token& end);

  ServerLink& link_;
  const std::atomic<bool>& stop_;
  std::atomic<Clock::time_point> heard_ = Clock::now();
  std::atomic<Clock::duration> patience_;
  std::atomic<Clock::duration> farewell_ = Clock::duration::zero();
  std::jthread thread_;  // last: it uses the others
};

}  // namespace feroma::net
