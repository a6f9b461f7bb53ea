#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "net/front_door.h"

namespace feroma::net {

/// A gRPC server whose connections come through a front door. What it serves and the door must outlive it.
class GuardedServer {
 public:
  explicit GuardedServer(FrontDoor& door) : door_(door) {}
  ~GuardedServer();
  GuardedServer(const GuardedServer&) = delete;
  GuardedServer& operator=(const GuardedServer&) = delete;

  /// Starts what `builder` describes and opens the door. `name` is what an error calls it.
  void start(grpc::ServerBuilder& builder, const std::shared_ptr<grpc::ServerCredentials>& credentials,
             const DoorLimits& limits, const std::string& name);

 private:
  FrontDoor& door_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

/// Ends a stream before it begins.
template <class Read, class Write>
class RefusedStream final : public grpc::ServerBidiReactor<Read, Write> {
 public:
  explicit RefusedStream(const grpc::Status& status) { this->Finish(status); }
  void OnDone() override { delete this; }
};

}  // namespace feroma::net
