#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/listener.h"

namespace feroma::net {

/// Why a connection does not get past the door.
enum class Turned {
  address_limit,
  stranger_limit,
  connection_limit,
  closed,
  descriptors,
  older_tls,
  not_tls,
  malformed_hello,
  gone,
  too_slow,
  left,
};

/// Counts connections that were refused, and writes about them: one line a second for each reason, however many there
/// are. All calls may come from any thread.
class Refusals {
 public:
  using Clock = std::chrono::steady_clock;

  void note(Turned reason, const PeerAddress& peer);
  /// Writes the lines that were held back for a second.
  void write_held_back();
  /// When there will be such a line; the end of time where there will be none.
  [[nodiscard]] Clock::time_point next_line() const;
  /// By name; every reason is there.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t held_back = 0;
    Clock::time_point written;
  };
  mutable std::mutex mutex_;
  std::array<Entry, static_cast<std::size_t>(Turned::left) + 1> entries_{};
};

}  // namespace feroma::net
