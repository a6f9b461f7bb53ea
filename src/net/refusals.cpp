#include "net/refusals.h"

#include <algorithm>
#include <utility>

#include "feroma/core/log.h"

namespace feroma::net {
namespace {

constexpr auto kBetweenLines = std::chrono::seconds(1);

struct ReasonText {
  const char* name;
  const char* text;
};
constexpr std::array kTexts{
    ReasonText{"address_limit", "too many connections of its address have not shown who they are"},
    ReasonText{"stranger_limit", "too many connections have not shown who they are"},
    ReasonText{"connection_limit", "too many connections"},
    ReasonText{"closed", "nobody is let in any more"},
    ReasonText{"descriptors", "no descriptor is left (see ulimit -n)"},
    ReasonText{"older_tls", "it does not offer TLS 1.3"},
    ReasonText{"not_tls", "it does not speak TLS"},
    ReasonText{"malformed_hello", "its TLS hello cannot be read"},
    ReasonText{"gone", "it left before its hello was whole"},
    ReasonText{"too_slow", "it did not show in time who it is"},
    ReasonText{"left", "it left, or its certificate was refused, before it showed who it is"},
};

}  // namespace

void Refusals::note(Turned reason, const PeerAddress& peer) {
  static_assert(kTexts.size() == std::tuple_size_v<decltype(entries_)>);
  const auto index = static_cast<std::size_t>(reason);
  {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_.at(index);
    const Clock::time_point now = Clock::now();
    if (entry.count++ > 0 && now - entry.written < kBetweenLines) {
      entry.held_back += 1;
      return;
    }
    entry.written = now;
  }
  const std::string address = text_of(peer);
  log::write(log::Severity::warning, fmt::format("{}: refused: {}", address, kTexts.at(index).text),
             {{"address", address}, {"reason", kTexts.at(index).name}});
}

void Refusals::write_held_back() {
  const Clock::time_point now = Clock::now();
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    std::uint64_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      Entry& entry = entries_.at(index);
      if (entry.held_back == 0 || now - entry.written < kBetweenLines) {
        continue;
      }
      count = std::exchange(entry.held_back, 0);
      entry.written = now;
    }
    log::write(log::Severity::warning, fmt::format("{} more refused: {}", count, kTexts.at(index).text),
               {{"count", count}, {"reason", kTexts.at(index).name}});
  }
}

Refusals::Clock::time_point Refusals::next_line() const {
  const std::lock_guard lock(mutex_);
  Clock::time_point next = Clock::time_point::max();
  for (const Entry& entry : entries_) {
    if (entry.held_back > 0) {
      next = std::min(next, entry.written + kBetweenLines);
    }
  }
  return next;
}

std::map<std::string, std::uint64_t> Refusals::counts() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t index = 0; index < entries_.size(); ++index) {
    counts[kTexts.at(index).name] = entries_.at(index).count;
  }
  return counts;
}

}  // namespace feroma::net
