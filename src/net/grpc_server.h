#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "net/front_door.h"
#include "net/hub.h"

namespace feroma::net {

/// Lets clients reach a hub over gRPC. Threads do not grow with clients.
class GrpcServer {
 public:
  /// Listens at `address`; `certificates` is a folder of `feroma cert`, or empty for plain text, which is refused on
  /// anything but loopback.
  GrpcServer(Hub& hub, const std::string& address, const std::filesystem::path& certificates,
             const DoorLimits& limits = {});
  /// Gives connections a moment to end by themselves.
  ~GrpcServer();

  /// Sends those away whose certificates were revoked since they came, or taken off a list that is no longer being
  /// written. Called now and then, by one thread.
  void enforce_list();
  [[nodiscard]] int port() const;
  [[nodiscard]] FrontDoor& door();

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace feroma::net
