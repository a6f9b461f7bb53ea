#include "net/flower_pulse.h"

#include <algorithm>
#include <utility>

namespace feroma::net {

FlowerPulse::FlowerPulse(const Clock& clock, double pause_seconds)
    : clock_(clock), pause_(Clock::seconds(pause_seconds)), thread_([this](const std::stop_token& end) { run(end); }) {}

void FlowerPulse::attend(std::weak_ptr<FlowerBridge> bridge) {
  const std::lock_guard lock(mutex_);
  std::erase_if(attended_, [](const auto& one) { return one.expired(); });
  attended_.push_back(std::move(bridge));
}

std::size_t FlowerPulse::open() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(attended_.begin(), attended_.end(), [](const auto& one) { return !one.expired(); }));
}

void FlowerPulse::run(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  for (;;) {
    clock_.wait_until(
        lock, rest_, clock_.now() + pause_, [] { return false; }, end);
    if (end.stop_requested()) {
      return;
    }
    const std::list<std::weak_ptr<FlowerBridge>> all = attended_;
    lock.unlock();
    for (const std::weak_ptr<FlowerBridge>& one : all) {
      if (const std::shared_ptr<FlowerBridge> bridge = one.lock()) {
        bridge->beat();
      }
    }
    lock.lock();
  }
}

}  // namespace feroma::net
