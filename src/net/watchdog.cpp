#include "net/watchdog.h"

#include <condition_variable>
#include <optional>

namespace feroma::net {
namespace {

constexpr auto kWatch = std::chrono::milliseconds(200);

}  // namespace

Watchdog::Watchdog(ServerLink& link, const std::atomic<bool>& stop, Clock::duration patience)
    : link_(link), stop_(stop), patience_(patience), thread_([this](const std::stop_token& end) { watch(end); }) {}

void Watchdog::set_patience(Clock::duration patience) {
  heard();
  patience_ = patience;
}

void Watchdog::watch(const std::stop_token& end) {
  std::mutex resting;
  std::condition_variable_any rest;
  std::unique_lock lock(resting);
  std::optional<Clock::time_point> stopping;
  while (!end.stop_requested()) {
    const Clock::time_point now = Clock::now();
    if (stop_ && !stopping) {
      stopping = now;
    }
    if ((stopping && now - *stopping >= farewell_.load()) || now - heard_.load() > patience_.load()) {
      link_.cancel();
      return;
    }
    rest.wait_for(lock, end, std::min<Clock::duration>(kWatch, patience_.load()), [] { return false; });
  }
}

}  // namespace feroma::net
