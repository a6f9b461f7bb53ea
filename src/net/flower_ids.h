#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <variant>

#include "net/hub.h"

namespace feroma::net {

/**
 * Who Flower's peers are in a federation. Nothing proves it, so nobody gets the id of a client that is there, nor one
 * that belongs to a certificate. Safe to call from several threads.
 */
class FlowerIds {
 public:
  /// `certificates` is a folder of `feroma cert` whose list has the ids to keep away from; may be empty.
  FlowerIds(const Hub& hub, std::uint32_t clients, std::filesystem::path certificates);

  /// The id that a peer claims, or the lowest that is free; else why not, and when to come again. An error while the
  /// list cannot be read, or is gone after it was once there.
  [[nodiscard]] std::variant<ClientId, Refusal> take(std::optional<std::int64_t> claimed);
  void give_back(ClientId id);

 private:
  /// Learns which ids belong to certificates. Needs the lock.
  void read_list();

  const Hub& hub_;
  const std::uint32_t clients_;
  const std::filesystem::path certificates_;
  std::mutex mutex_;
  bool listed_;                   ///< there is, or was, a list
  std::set<ClientId> certified_;  ///< whoever was ever on it: ids are not given to others
  std::set<ClientId> taken_;
};

}  // namespace feroma::net
