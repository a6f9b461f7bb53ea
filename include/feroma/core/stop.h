#pragma once

#include <atomic>
#include <stop_token>

namespace feroma {

/// Asks whoever works or waits to end. What only looks now and then takes it as a flag; what waits is woken by it.
class Stop {
 public:
  void request() {
    flag_ = true;
    source_.request_stop();
  }
  [[nodiscard]] bool requested() const { return flag_; }
  [[nodiscard]] std::stop_token token() const { return source_.get_token(); }
  operator const std::atomic<bool>&() const { return flag_; }  // NOLINT(google-explicit-constructor)

 private:
  std::atomic<bool> flag_ = false;
  std::stop_source source_;
};

}  // namespace feroma
