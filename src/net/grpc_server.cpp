#include "net/grpc_server.h"

#include <grpcpp/grpcpp.h>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/endpoint.h"
#include "net/train_stream.h"

namespace feroma::net {
namespace {

/// One frame: a piece and what is around it.
constexpr int kLargestFrame = static_cast<int>(kPieceSize) + (4 << 10);

class Service final : public v1::Federation::CallbackService {
 public:
  explicit Service(Hub& hub) : hub_(hub) {}

  grpc::ServerBidiReactor<v1::ClientFrame, v1::ServerFrame>* Train(grpc::CallbackServerContext* context) override {
    return TrainStream::open(hub_, scribe_, *context, {context->peer(), std::nullopt, ""});
  }

 private:
  Hub& hub_;
  Scribe scribe_;
};

}  // namespace

class GrpcServer::Parts {
 public:
  explicit Parts(Hub& hub) : service(hub) {}

  Service service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

GrpcServer::GrpcServer(Hub& hub, const std::string& address, const std::filesystem::path& certificates)
    : parts_(std::make_unique<Parts>(hub)) {
  require(!certificates.empty() || is_loopback(address), ErrorCode::invalid_config,
          "listening without certificates is for loopback only, got {}: see feroma cert", address);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &parts_->port);
  builder.RegisterService(&parts_->service);
  builder.SetMaxReceiveMessageSize(kLargestFrame);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  parts_->server = builder.BuildAndStart();
  require(parts_->server != nullptr && parts_->port > 0, ErrorCode::io, "cannot listen at {}: is the port taken?",
          address);
}

GrpcServer::~GrpcServer() { parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2)); }

int GrpcServer::port() const { return parts_->port; }

}  // namespace feroma::net
