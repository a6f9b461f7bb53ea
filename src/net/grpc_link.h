#pragma once

#include <memory>
#include <string>

#include "feroma/core/stop.h"
#include "feroma/net/client.h"
#include "net/intake.h"

namespace feroma::net {

/// A client's connection over gRPC.
class GrpcLink final : public ServerLink {
 public:
  struct Stream;

  explicit GrpcLink(std::unique_ptr<Stream> stream);
  ~GrpcLink() override;

  bool send(const v1::ClientFrame& frame) override;
  bool receive(v1::ServerFrame& frame) override;
  void cancel() override;
  /// Ends the connection. What the server refused it with stands in its status rather than in a frame.
  [[nodiscard]] Ending explain(Ending ending);

 private:
  std::unique_ptr<Stream> stream_;
};

/// What came of an attempt to connect.
struct Attempt {
  std::unique_ptr<GrpcLink> link;  ///< null where there is no connection
  std::string reason = {};         ///< why there is none, fit for a log
};

/// Refuses a plan with which no connection will ever be made. Files may change later: a client asks once.
void require_connectable(const ClientPlan& plan);

/// Connects to the plan's server; no link where it cannot be reached in time, or the client is to stop. Plain text is
/// refused on anything but loopback.
[[nodiscard]] Attempt connect(const ClientPlan& plan, const Stop& stop);

}  // namespace feroma::net
