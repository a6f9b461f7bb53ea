#include "feroma/core/stop.h"

#include <condition_variable>
#include <mutex>

namespace feroma {

bool rest_until(std::chrono::steady_clock::time_point time, const std::stop_token& end, const std::stop_token& other) {
  std::mutex mutex;
  std::condition_variable_any ended;
  const std::stop_callback wake(other, [&] {
    const std::lock_guard lock(mutex);
    ended.notify_all();
  });
  std::unique_lock lock(mutex);
  ended.wait_until(lock, end, time, [&] { return other.stop_requested(); });
  return !end.stop_requested() && !other.stop_requested();
}

bool rest_for(double seconds, const std::stop_token& end, const std::stop_token& other) {
  using Clock = std::chrono::steady_clock;
  return rest_until(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)),
                    end, other);
}

}  // namespace feroma
