#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "core/listener.h"
#include "net/line_limit.h"

namespace feroma::net {

/// Why a connection does not get past the door.
enum class Turned {
  address_limit,
  stranger_limit,
  connection_limit,
  certificate_limit,
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
  explicit Refusals(const Clock& clock) : lines_(clock) {}

  void note(Turned reason, const PeerAddress& peer);
  /// Writes the lines that were held back for a second.
  void write_held_back();
  /// When there will be such a line; the end of time where there will be none.
  [[nodiscard]] Clock::time_point next_line() const { return lines_.next_line(); }
  /// By name; every reason is there.
  [[nodiscard]] std::map<std::string, std::uint64_t> counts() const;

 private:
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Turned::left) + 1> counts_{};
  LineLimit lines_;
};

}  // namespace feroma::net
