#include "net/grpc_link.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/grpc_log.h"

namespace feroma::net {
namespace {

/// How often a client that connects looks whether it is to stop.
constexpr std::chrono::milliseconds kLook(100);
/// How long gRPC may take to say why there is no connection: it knows at once, or not at all.
constexpr std::chrono::milliseconds kAsk(100);

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

/// The part of gRPC's words that tells one failure from another: "failed to connect to all addresses; last error:
/// UNKNOWN: ipv4:127.0.0.1:1: Connection refused" begins alike whatever happened.
std::string_view last_error_in(std::string_view words) {
  for (const std::string_view end : {"last error: ", "UNKNOWN: ", "UNAVAILABLE: "}) {
    const std::size_t found = words.find(end);
    if (found != std::string_view::npos) {
      words.remove_prefix(found + end.size());
    }
  }
  return words;
}

/// In TLS 1.3 the server looks at a client's certificate after the client is done with its side, and who is refused
/// sees no more than a connection that was closed.
bool may_be_refused(const ClientPlan& plan, std::string_view words) {
  return !plan.authority.empty() && (words.find("Socket closed") != std::string_view::npos ||
                                     words.find("Connection reset") != std::string_view::npos);
}

/// Why a channel is not connected. Only a call that does not wait for a connection is told.
std::string why_not_connected(const ClientPlan& plan, const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kAsk);
  const std::unique_ptr<v1::Federation::Stub> stub = v1::Federation::NewStub(channel);
  const grpc::Status status = stub->Train(&context)->Finish();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
    return fmt::format("no answer within {} s", plan.connect_seconds);
  }
  const std::string words = printable(last_error_in(status.error_message()));
  if (words.find("certificate verify failed") != std::string::npos) {
    return words +
           " (the server's certificate is not signed by the authority that was given, or one of both has expired)";
  }
  return may_be_refused(plan, words) ? words + " (the server may refuse this client's certificate, or have no room)"
                                     : words;
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

void require_connectable(const ClientPlan& plan) {
  require(is_host_and_port(plan.server), ErrorCode::invalid_config,
          "a server's address must be HOST:PORT, like fed.example.org:7443, got \"{}\"", plan.server);
  if (plan.has_certificates()) {
    require_usable(plan.authority, {plan.certificate, plan.key});
    warn_if_open_to_others(plan.key);
  }
}

Attempt connect(const ClientPlan& plan, const Stop& stop) {
  write_into_our_log(Handshakes::tell);
  // A channel of its own for each connection: gRPC's pauses between attempts would be added to ours.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kLargestFrame);
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateCustomChannel(plan.server, credentials_of(plan), arguments);
  const Clock::time_point deadline = plan.clock->now() + Clock::seconds(plan.connect_seconds);
  const auto link = [&] { return Attempt{std::make_unique<GrpcLink>(std::make_unique<GrpcLink::Stream>(channel))}; };
  const auto left = [&] { return plan.clock->real(deadline - plan.clock->now()); };
  for (Clock::duration time = left(); !stop.requested() && time > time.zero(); time = left()) {
    if (channel->WaitForConnected(std::chrono::system_clock::now() + std::min<Clock::duration>(time, kLook))) {
      return link();
    }
  }
  if (stop.requested()) {
    return {nullptr, "told to stop"};
  }
  return channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_READY
             ? link()
             : Attempt{nullptr, why_not_connected(plan, channel)};
}

}  // namespace feroma::net
