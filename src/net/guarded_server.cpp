#include "net/guarded_server.h"

#include <chrono>

#include "feroma/core/error.h"

namespace feroma::net {

void GuardedServer::start(grpc::ServerBuilder& builder, const std::shared_ptr<grpc::ServerCredentials>& credentials,
                          const DoorLimits& limits, const std::string& name) {
  using Experimental = grpc::ServerBuilder::experimental_type;
  acceptor_ =
      builder.experimental().AddExternalConnectionAcceptor(Experimental::ExternalConnectionType::FROM_FD, credentials);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, limits.idle_milliseconds());
  server_ = builder.BuildAndStart();
  require(server_ != nullptr, ErrorCode::io, "cannot start {}: can its certificates be used?", name);
  door_.open([&acceptor = *acceptor_](int descriptor) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    acceptor.HandleNewConnection(&connection);
  });
}

GuardedServer::~GuardedServer() {
  // A connection that is handed over to a server that has ended would stay open for ever.
  door_.stop();
  if (server_ != nullptr) {
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  }
}

}  // namespace feroma::net
