#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "net/flower_bridge.h"

namespace feroma::net {

/// Looks after every bridge once in a pause, on a thread of its own.
class FlowerPulse {
 public:
  FlowerPulse(const Clock& clock, double pause_seconds);

  /// From now on the bridge is looked after, until it is gone.
  void attend(std::weak_ptr<FlowerBridge> bridge);
  /// Bridges that are there.
  [[nodiscard]] std::size_t open() const;

 private:
  void run(const std::stop_token& end);

  const Clock& clock_;
  const Clock::duration pause_;
  mutable std::mutex mutex_;
  std::condition_variable_any rest_;
  std::list<std::weak_ptr<FlowerBridge>> attended_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace feroma::net
