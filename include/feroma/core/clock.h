#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>

namespace feroma {

/**
 * By what time is told and waited for. This one is the machine's own, which is never set back; tests have others. Its
 * points in time are of a type of their own, so that those of two kinds of clocks do not mix.
 */
class Clock {
 public:
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<Clock, duration>;

  virtual ~Clock() = default;
  /// The one that everybody has who was given no other.
  [[nodiscard]] static const Clock& machine();
  /// More than a year are a year of 366 days.
  [[nodiscard]] static duration seconds(double count);

  [[nodiscard]] virtual time_point now() const;
  /// How long the machine takes for what is `time` here: for whoever cannot ask this object to wait, as gRPC.
  [[nodiscard]] virtual duration real(duration time) const { return time; }
  /// Waits until `awaited` holds, which whoever notifies `changed` may have brought about; false where the time came or
  /// `end` asked for an end before. `lock` is held while `awaited` is asked.
  virtual bool wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable_any& changed, time_point until,
                          const std::function<bool()>& awaited, std::stop_token end = {}) const;

  /// Lets time pass until `end` or `other` asks for an end; true where none did.
  bool rest_until(time_point time, const std::stop_token& end, const std::stop_token& other = {}) const;
  bool rest_for(double seconds, const std::stop_token& end, const std::stop_token& other = {}) const;
};

}  // namespace feroma
