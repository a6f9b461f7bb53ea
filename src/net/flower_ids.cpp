#include "net/flower_ids.h"

#include "feroma/core/error.h"
#include "feroma/net/certificates.h"

namespace feroma::net {
namespace {

/// When to ask again for an id that somebody has.
constexpr double kComeAgainSeconds = 10;

}  // namespace

FlowerIds::FlowerIds(const Hub& hub, std::uint32_t clients, std::filesystem::path certificates)
    : hub_(hub),
      clients_(clients),
      certificates_(std::move(certificates)),
      listed_(!certificates_.empty() && std::filesystem::exists(client_list_file(certificates_))) {}

void FlowerIds::read_list() {
  const std::filesystem::path list = client_list_file(certificates_);
  listed_ = listed_ || (!certificates_.empty() && std::filesystem::exists(list));
  if (listed_) {
    for (const ClientEntry& entry : read_client_list(list).entries()) {
      certified_.insert(entry.id);
    }
  }
}

std::variant<ClientId, Refusal> FlowerIds::take(std::optional<std::int64_t> claimed) {
  if (claimed && (*claimed < 0 || *claimed >= static_cast<std::int64_t>(clients_))) {
    return Refusal{v1::UNKNOWN_CLIENT, fmt::format("a client's id must be below {}, got {}", clients_, *claimed), 0};
  }
  const std::lock_guard lock(mutex_);
  read_list();
  std::set<ClientId> busy = taken_;
  for (const ClientId client : hub_.present()) {
    busy.insert(client);
  }
  if (claimed) {
    const auto id = static_cast<ClientId>(*claimed);
    if (certified_.contains(id)) {
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
    if (!certified_.contains(id) && !busy.contains(id)) {
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
