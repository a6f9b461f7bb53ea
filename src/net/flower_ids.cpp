#include "net/flower_ids.h"

#include "feroma/core/error.h"
#include "feroma/net/certificates.h"

namespace feroma::net {
namespace {

/// When to ask again for an id that somebody has.
constexpr double kComeAgainSeconds = 10;

}  // namespace

FlowerIds::FlowerIds(const Hub& hub, std::uint32_t clients, std::filesystem::path certificates)
    : hub_(hub), clients_(clients), certificates_(std::move(certificates)) {}

std::variant<ClientId, Refusal> FlowerIds::take(std::optional<std::int64_t> claimed) {
  if (claimed && (*claimed < 0 || *claimed >= static_cast<std::int64_t>(clients_))) {
    return Refusal{v1::UNKNOWN_CLIENT, fmt::format("a client's id must be below {}, got {}", clients_, *claimed), 0};
  }
  std::set<ClientId> certified;
  const std::filesystem::path list = client_list_file(certificates_);
  if (!certificates_.empty() && std::filesystem::exists(list)) {
    for (const ClientEntry& entry : read_client_list(list).entries()) {
      certified.insert(entry.id);
    }
  }
  const std::lock_guard lock(mutex_);
  std::set<ClientId> busy = taken_;
  for (const ClientId client : hub_.present()) {
    busy.insert(client);
  }
  if (claimed) {
    const auto id = static_cast<ClientId>(*claimed);
    if (certified.contains(id)) {
      return Refusal{v1::UNKNOWN_CLIENT, fmt::format("client {} must show its certificate", *claimed), 0};
    }
    if (busy.contains(id)) {
      return Refusal{v1::TWICE, fmt::format("there is a client {} already", *claimed), kComeAgainSeconds};
    }
    taken_.insert(id);
    return id;
  }
  for (std::uint32_t i = 0; i < clients_; ++i) {
    const auto id = static_cast<ClientId>(i);
    if (!certified.contains(id) && !busy.contains(id)) {
      taken_.insert(id);
      return id;
    }
  }
  return Refusal{v1::TWICE, fmt::format("all {} places are taken", clients_), kComeAgainSeconds};
}

void FlowerIds::give_back(ClientId id) {
  const std::lock_guard lock(mutex_);
  taken_.erase(id);
}

}  // namespace feroma::net
