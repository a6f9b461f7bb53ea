#include "net/flower_service.h"

#include <flwr/proto/transport.grpc.pb.h>
#include <fmt/core.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <limits>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/net/certificates.h"
#include "net/flower_pulse.h"
#include "net/flower_tensors.h"
#include "net/guarded_server.h"
#include "net/message_stream.h"

namespace feroma::net {
namespace {

/// Flower's own figure: training may take long, and proxies forget silent connections.
constexpr int kKeepaliveMs = 210'000;
/// Pings of peers that come faster than this are taken for an attack.
constexpr int kFastestPingMs = 10'000;
/// Connections beyond one for each client: of those who wait for a place, or have not said who they are.
constexpr std::size_t kSpareStreams = 16;

/// One of Flower's clients that is turned away does not come again by itself, and several may start on one machine: of
/// one address as many are let in as of all.
DoorLimits limits_of(const FederationPlan& plan) {
  DoorLimits limits = DoorLimits::of(plan.server, plan.experiment.scenario.clients);
  limits.strangers_per_address = limits.strangers;
  return limits;
}

std::shared_ptr<grpc::ServerCredentials> one_sided_credentials(const std::filesystem::path& certificates) {
  if (certificates.empty()) {
    return grpc::InsecureServerCredentials();
  }
  // Flower's clients have no certificates of their own.
  grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  const CertificateFiles own = server_files(certificates);
  options.pem_key_cert_pairs.push_back({read_text(own.key), read_text(own.certificate)});
  return grpc::SslServerCredentials(options);
}

using Refused = RefusedStream<grpc::ByteBuffer, grpc::ByteBuffer>;
using FlowerStream = MessageStream<FlowerBridge, flower::ClientMessage>;

}  // namespace

class FlowerJoins final : public flower::FlowerService::WithRawCallbackMethod_Join<flower::FlowerService::Service> {
 public:
  FlowerJoins(Hub& hub, FrontDoor& door, const FederationPlan& plan, const FlowerOptions& options)
      : hub_(hub),
        door_(door),
        restart_seconds_(options.restart_seconds),
        dialect_(flower_dialect(plan)),
        most_streams_(static_cast<std::size_t>(plan.experiment.scenario.clients) + kSpareStreams),
        pace_(TransferPace::of(plan.server)),
        ids_(hub, static_cast<std::uint32_t>(plan.experiment.scenario.clients), options.certificates),
        pulse_(*plan.server.clock, plan.server.heartbeat_seconds) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Join(grpc::CallbackServerContext* context) override {
    if (pulse_.open() >= most_streams_) {
      door_.turned_away(context->peer(), Turned::connection_limit);
      return new Refused(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many connections"));
    }
    return FlowerStream::open(scribe_, *context, [&](std::function<void()> wake) {
      auto bridge =
          std::make_shared<FlowerBridge>(hub_, ids_, dialect_, bridge_options(context->peer()), std::move(wake));
      pulse_.attend(bridge);
      return bridge;
    });
  }

  /// Bytes of a message from a peer, at most.
  [[nodiscard]] int largest() const {
    const std::size_t bytes =
        largest_flower_message(*dialect_.layout, dialect_.profiles ? dialect_.profiles->shape.size() : 0);
    return static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max()));
  }

 private:
  [[nodiscard]] FlowerBridge::Options bridge_options(const std::string& peer) {
    return {.address = peer,
            .restart_seconds = restart_seconds_,
            .pace = pace_,
            .judged = [&door = door_, peer](bool let_in) {
              if (let_in) {
                door.authenticated(peer);
              } else {
                door.turned_away(peer);
              }
            }};
  }

  Hub& hub_;
  FrontDoor& door_;
  const double restart_seconds_;
  const FlowerDialect dialect_;
  const std::size_t most_streams_;
  const TransferPace pace_;
  FlowerIds ids_;
  Scribe scribe_;
  FlowerPulse pulse_;  // last: its bridges leave notes with the scribe
};

class FlowerServer::Parts {
 public:
  Parts(Hub& hub, const FederationPlan& plan, const FlowerOptions& options)
      : door(options.address, limits_of(plan), /*tls=*/false), service(hub, door, plan, options), server(door) {}

  FrontDoor door;  ///< counts and times connections; which TLS Flower's clients speak is between them and gRPC
  FlowerJoins service;
  GuardedServer server;
};

void check_flower(const FederationPlan& plan, const FlowerOptions& options) {
  require(!options.certificates.empty() || is_loopback(options.address), ErrorCode::invalid_config,
          "listening for Flower's clients without certificates is for loopback only, got {}: see feroma cert",
          options.address);
  static_cast<void>(flower_dialect(plan));
}

FlowerServer::FlowerServer(Hub& hub, const FederationPlan& plan, const FlowerOptions& options) {
  check_flower(plan, options);
  parts_ = std::make_unique<Parts>(hub, plan, options);
  grpc::ServerBuilder builder;
  builder.RegisterService(&parts_->service);
  builder.SetMaxReceiveMessageSize(parts_->service.largest());
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kFastestPingMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  parts_->server.start(builder, one_sided_credentials(options.certificates), limits_of(plan),
                       fmt::format("the server for Flower's clients at {}", options.address));
}

FlowerServer::~FlowerServer() = default;

int FlowerServer::port() const { return parts_->door.port(); }

const FrontDoor& FlowerServer::door() const { return parts_->door; }

}  // namespace feroma::net
