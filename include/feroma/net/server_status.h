#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace feroma {

/// The last round that a server finished since it was started.
struct LastRound {
  double seconds = 0;
  std::optional<double> accuracy_before;  ///< percent; absent where clients keep their accuracies to themselves
  std::optional<double> accuracy_after;
  std::size_t answered = 0;
  std::size_t dropped = 0;
};

/// What a federation's server can say of itself at one moment: numbers and names for /metrics and /healthz, no secrets.
struct ServerStatus {
  std::string version;
  std::string job;
  double uptime_seconds = 0;

  int rounds_finished = 0;
  int rounds_planned = 0;
  int round = 0;  ///< the one under way; 0: none
  int phase = 0;  ///< the one under way, from 1; 0: none
  std::optional<LastRound> last_round;

  std::size_t clients = 0;                          ///< connected and greeted
  std::map<std::uint32_t, double> heard;            ///< how many seconds ago each of them was, by id
  std::size_t connections = 0;                      ///< all that are open, strangers included
  std::uint64_t connections_made = 0;               ///< since the start, as everything that follows
  std::map<std::uint32_t, std::uint64_t> refusals;  ///< how often a client was refused something, by id
  std::map<std::string, std::uint64_t> answers;     ///< by what was said to them: ACCEPTED, LATE, ...
  std::map<std::string, std::uint64_t> refused;     ///< connections that did not get past the door, by reason
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;

  std::uint64_t memory_bytes = 0;  ///< resident
  std::size_t descriptors = 0;
  std::size_t threads = 0;

  bool draining = false;  ///< it was told to stop
  bool healthy = true;    ///< false where nothing moved for longer than it may
  std::string reason;     ///< why it is not healthy
};

}  // namespace feroma
