#include "net/line_limit.h"

#include <algorithm>
#include <utility>

namespace feroma::net {
namespace {

constexpr auto kSecond = std::chrono::seconds(1);

}  // namespace

bool LineLimit::allows(const std::string& name) {
  const Clock::time_point now = clock_.now();
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = entries_.try_emplace(name);
  Entry& entry = found->second;
  if (is_new || now - entry.began >= kSecond) {
    entry.began = now;
    entry.written = 0;
  }
  if (entry.written >= lines_a_second_) {
    entry.held_back += 1;
    return false;
  }
  entry.written += 1;
  return true;
}

std::map<std::string, std::uint64_t> LineLimit::take_held_back() {
  const Clock::time_point now = clock_.now();
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::uint64_t> due;
  for (auto& [name, entry] : entries_) {
    if (entry.held_back > 0 && now - entry.began >= kSecond) {
      due[name] = std::exchange(entry.held_back, 0);
      entry.began = now;
      entry.written = 1;  // the line that says so
    }
  }
  return due;
}

Clock::time_point LineLimit::next_line() const {
  const std::lock_guard lock(mutex_);
  Clock::time_point next = Clock::time_point::max();
  for (const auto& [name, entry] : entries_) {
    if (entry.held_back > 0) {
      next = std::min(next, entry.began + kSecond);
    }
  }
  return next;
}

}  // namespace feroma::net
