#pragma once

#include <memory>

#include "feroma/net/flower.h"
#include "feroma/net/server.h"
#include "net/front_door.h"
#include "net/hub.h"

namespace feroma::net {

/// What would keep Flower's clients out of a federation: what they cannot do is an `unsupported` error, plain text on
/// anything but loopback an invalid_config one.
void check_flower(const FederationPlan& plan, const FlowerOptions& options);

/// Lets clients of the Flower framework reach a hub. Threads do not grow with clients.
class FlowerServer {
 public:
  /// Begins to listen; errors as of check_flower.
  FlowerServer(Hub& hub, const FederationPlan& plan, const FlowerOptions& options);
  /// Gives connections a moment to end by themselves.
  ~FlowerServer();
  FlowerServer(const FlowerServer&) = delete;
  FlowerServer& operator=(const FlowerServer&) = delete;

  [[nodiscard]] int port() const;
  /// Where its connections arrive.
  [[nodiscard]] const FrontDoor& door() const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace feroma::net
