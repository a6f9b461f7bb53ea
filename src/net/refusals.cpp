#include "net/refusals.h"

#include <algorithm>

#include "feroma/core/log.h"

namespace feroma::net {
namespace {

struct ReasonText {
  const char* name;
  const char* text;
};
constexpr std::array kTexts{
    ReasonText{"address_limit", "too many connections of its address have not shown who they are"},
    ReasonText{"stranger_limit", "too many connections have not shown who they are"},
    ReasonText{"connection_limit", "too many connections"},
    ReasonText{"certificate_limit", "too many connections of its certificate"},
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
  static_assert(kTexts.size() == std::tuple_size_v<decltype(counts_)>);
  const auto index = static_cast<std::size_t>(reason);
  const ReasonText& why = kTexts.at(index);
  counts_.at(index) += 1;
  if (lines_.allows(why.name)) {
    const std::string address = text_of(peer);
    log::write(log::Severity::warning, fmt::format("{}: refused: {}", address, why.text),
               {{"address", address}, {"reason", why.name}});
  }
}

void Refusals::write_held_back() {
  for (const auto& held_back : lines_.take_held_back()) {
    const auto& [name, count] = held_back;
    const auto* why =
        std::find_if(kTexts.begin(), kTexts.end(), [&](const auto& text) { return text.name == held_back.first; });
    log::write(log::Severity::warning, fmt::format("{} more refused: {}", count, why->text),
               {{"count", count}, {"reason", name}});
  }
}

std::map<std::string, std::uint64_t> Refusals::counts() const {
  std::map<std::string, std::uint64_t> counts;
  for (std::size_t index = 0; index < counts_.size(); ++index) {
    counts[kTexts.at(index).name] = counts_.at(index);
  }
  return counts;
}

}  // namespace feroma::net
