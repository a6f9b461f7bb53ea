#include "net/grpc_link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/grpc_log.h"

namespace feroma::net {
namespace {

/// How often a client that connects looks whether it is to stop.
constexpr std::chrono::milliseconds kLook(100);

std::shared_ptr<grpc::ChannelCredentials> credentials_of(const ClientPlan& plan) {
  if (plan.authority.empty()) {
    require(is_loopback(plan.server), ErrorCode::invalid_config,
            "a connection without certificates is for loopback only, got {}: see feroma cert", plan.server);
    return grpc::InsecureChannelCredentials();
  }
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = read_text(plan.authority);
  options.pem_cert_chain = read_text(plan.certificate);
  options.pem_private_key = read_text(plan.key);
  return grpc::SslCredentials(options);
}

}  // namespace

struct GrpcLink::Stream {
  explicit Stream(const std::shared_ptr<grpc::Channel>& channel)
      : stub(v1::Federation::NewStub(channel)), stream(stub->Train(&context)) {}

  /// Ends the connection and tells what the server had to say about it.
  grpc::Status end() {
    if (!ended) {
      if (!read_all) {
        context.TryCancel();  // what was read to its end has a reason that must not be overwritten
      }
      status = stream->Finish();
      ended = true;
    }
    return status;
  }

  std::unique_ptr<v1::Federation::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ClientFrame, v1::ServerFrame>> stream;
  std::atomic<bool> read_all = false;
  bool ended = false;
  grpc::Status status;
};

GrpcLink::GrpcLink(std::unique_ptr<Stream> stream) : stream_(std::move(stream)) {}

GrpcLink::~GrpcLink() { static_cast<void>(stream_->end()); }

bool GrpcLink::send(const v1::ClientFrame& frame) { return stream_->stream->Write(frame); }

bool GrpcLink::receive(v1::ServerFrame& frame) {
  stream_->read_all = !stream_->stream->Read(&frame);
  return !stream_->read_all;
}

void GrpcLink::cancel() { stream_->context.TryCancel(); }

Ending GrpcLink::explain(Ending ending) {
  const grpc::Status status = stream_->end();
  return status.error_code() == grpc::StatusCode::UNAUTHENTICATED
             ? Ending{v1::UNKNOWN_CLIENT, printable(status.error_message()), 0}
             : std::move(ending);
}

std::unique_ptr<GrpcLink> connect(const ClientPlan& plan, const std::atomic<bool>& stop) {
  write_into_our_log(Handshakes::tell);
  // A channel of its own for each connection: gRPC's pauses between attempts would be added to ours.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kLargestFrame);
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(plan.server, credentials_of(plan), arguments);
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(plan.connect_seconds * plan.clock));
  for (auto left = deadline - Clock::now(); !stop && left > left.zero(); left = deadline - Clock::now()) {
    const auto look = std::min<Clock::duration>(left, kLook);
    if (channel->WaitForConnected(std::chrono::system_clock::now() + look)) {
      return std::make_unique<GrpcLink>(std::make_unique<GrpcLink::Stream>(channel));
    }
  }
  return nullptr;
}

}  // namespace feroma::net
