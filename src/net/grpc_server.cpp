#include "net/grpc_server.h"

#include <grpcpp/grpcpp.h>

#include <mutex>
#include <set>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/net/certificates.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/allow_list.h"
#include "net/grpc_log.h"
#include "net/guarded_server.h"
#include "net/message_stream.h"

namespace feroma::net {
namespace {

/// A client has one; another may come before the last one has ended.
constexpr int kStreamsPerConnection = 4;
/// Memory that gRPC may take for what clients send. Near it less is asked for at a time and what silent connections
/// hold is freed; left alone, each keeps room for as much as it ever brought at once. Beyond it gRPC ends streams, so
/// it is several times what connections need: frames are small, however large a model is.
constexpr std::size_t kRoomPerConnection = std::size_t{96} << 10;
constexpr std::size_t kRoomBesides = std::size_t{64} << 20;
constexpr const char* kRevoked = "its certificate was revoked";
constexpr const char* kUnlisted = "its certificate is not on the list any more";

using Refused = RefusedStream<grpc::ByteBuffer, grpc::ByteBuffer>;
using TrainStream = MessageStream<Session, v1::ClientFrame>;

std::shared_ptr<grpc::ServerCredentials> mutual_credentials(const std::filesystem::path& certificates) {
  if (certificates.empty()) {
    return grpc::InsecureServerCredentials();
  }
  // A certificate that is about to expire must not keep a server from starting again. What TLS cannot use gRPC accepts
  // and lets nobody in.
  require_usable(authority_files(certificates).certificate, server_files(certificates));
  for (const std::string& problem : check_certificates(certificates)) {
    log::warning("{}: {}", certificates.string(), problem);
  }
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = read_text(authority_files(certificates).certificate);
  const CertificateFiles own = server_files(certificates);
  options.pem_key_cert_pairs.push_back({read_text(own.key), read_text(own.certificate)});
  return grpc::SslServerCredentials(options);
}

}  // namespace

/// Frames are read as bytes, so that one that is no frame can be told from a connection that is gone.
class TrainService final : public v1::Federation::WithRawCallbackMethod_Train<v1::Federation::Service> {
 public:
  /// Without `certificates` everybody is who they say.
  TrainService(Hub& hub, FrontDoor& door, const std::filesystem::path& certificates, const Clock& clock)
      : hub_(hub), door_(door), secure_(!certificates.empty()), list_(client_list_file(certificates), clock) {
    // A list that is not there yet lets nobody in; one that is emptied or damaged must not be the first that is obeyed.
    if (secure_ && std::filesystem::exists(client_list_file(certificates))) {
      static_cast<void>(list_.read());
    }
  }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Train(grpc::CallbackServerContext* context) override {
    Peer peer{context->peer(), std::nullopt, ""};
    std::shared_ptr<const ClientList> looked_at;
    if (secure_) {
      try {
        looked_at = list_.read();
        const ClientEntry client = allowed_client(*looked_at, *context->auth_context());
        peer.id = client.id;
        peer.name = client.name;
        peer.fingerprint = client.fingerprint;
      } catch (const Error& error) {
        // A list that cannot be read just now is the server's trouble, not the client's.
        const bool is_unwanted = error.code() == ErrorCode::unsupported;
        door_.turned_away(peer.address);
        hub_.turned_away(peer, {is_unwanted ? v1::UNKNOWN_CLIENT : v1::UNAVAILABLE, error.what(), 0});
        return new Refused(is_unwanted ? grpc::Status(grpc::StatusCode::UNAUTHENTICATED, error.what())
                                       : grpc::Status(grpc::StatusCode::UNAVAILABLE, "come again"));
      }
    }
    if (!door_.authenticated(peer.address, peer.fingerprint)) {
      door_.turned_away(peer.address, Turned::certificate_limit);
      return new Refused(grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many connections of one certificate"));
    }
    TrainStream* stream = TrainStream::open(
        scribe_, *context, [&](std::function<void()> wake) { return hub_.connect(std::move(peer), std::move(wake)); });
    if (secure_) {  // it may have been revoked before there was a session to send away
      const std::shared_ptr<const ClientList> list = readable_list();
      if (list != nullptr && list != looked_at) {
        send_revoked_away(*list);
      }
    }
    return stream;
  }

  void enforce_list() {
    const std::shared_ptr<const ClientList> list = secure_ ? readable_list() : nullptr;
    if (list == nullptr) {
      return;
    }
    if (list != enforced_) {
      send_revoked_away(*list);
      enforced_ = list;
    } else if (list != settled_) {  // the same twice: nobody is writing it
      send_unlisted_away(*list);
      settled_ = list;
    }
  }

 private:
  /// Null where it cannot be read, with one line in the log for each time that this begins: nobody is shut out by such
  /// a list, and nobody is let in either. In place of a damaged one it is the last good list, with such a line too.
  [[nodiscard]] std::shared_ptr<const ClientList> readable_list() {
    std::string trouble;
    std::shared_ptr<const ClientList> list;
    try {
      list = list_.read();
      trouble = list_.damage();
    } catch (const Error& error) {
      trouble = error.what();
    }
    const std::lock_guard lock(mutex_);
    if (!trouble.empty() && trouble != trouble_) {
      log::warning("{}; {}whoever was revoked since it could be read is still here", trouble,
                   list != nullptr ? "the last good list stays in force: " : "");
    }
    trouble_ = std::move(trouble);
    return list;
  }

  void send_revoked_away(const ClientList& list) {
    // Who is not on it at all may be in the part of the file that somebody is still writing.
    hub_.send_away(
        [&](const Peer& peer) {
          const std::optional<ClientEntry> client = list.find(peer.fingerprint);
          return client && client->revoked;
        },
        {v1::UNKNOWN_CLIENT, kRevoked, 0});
    std::set<ClientId> shut_out;
    for (const ClientEntry& client : list.entries()) {
      if (client.revoked) {
        shut_out.insert(client.id);
      }
    }
    hub_.shut_out(shut_out, kRevoked);
  }

  /// Clients of Flower are on no list, and show no certificate.
  void send_unlisted_away(const ClientList& list) {
    hub_.send_away([&](const Peer& peer) { return !peer.fingerprint.empty() && !list.find(peer.fingerprint); },
                   {v1::UNKNOWN_CLIENT, kUnlisted, 0});
  }

  /// Asked for each connection, so that whoever is revoked stays out from then on.
  [[nodiscard]] static ClientEntry allowed_client(const ClientList& list, const grpc::AuthContext& context) {
    const std::vector<grpc::string_ref> pem = context.FindPropertyValues("x509_pem_cert");
    require(pem.size() == 1, ErrorCode::unsupported, "a client must show one certificate");
    const std::string fingerprint = fingerprint_of_pem(std::string(pem.front().data(), pem.front().size()));
    const std::optional<ClientEntry> client = list.find(fingerprint);
    require(client.has_value(), ErrorCode::unsupported, "certificate {} is not on the list", fingerprint);
    require(!client->revoked, ErrorCode::unsupported, "the certificate of {} was revoked", client->name);
    return *client;
  }

  Hub& hub_;
  FrontDoor& door_;
  const bool secure_;
  AllowList list_;
  std::shared_ptr<const ClientList> enforced_;  ///< the list that was looked at last, once it could be read
  std::shared_ptr<const ClientList> settled_;   ///< the one that was found unchanged last
  std::mutex mutex_;
  std::string trouble_;  ///< why the list cannot be read; empty while it can
  Scribe scribe_;
};

class GrpcServer::Parts {
 public:
  Parts(Hub& hub, const std::string& address, const std::filesystem::path& certificates, const DoorLimits& limits)
      : door(address, limits, /*tls=*/!certificates.empty()),
        service(hub, door, certificates, *limits.clock),
        server(door) {}

  FrontDoor door;
  TrainService service;
  GuardedServer server;
};

GrpcServer::GrpcServer(Hub& hub, const std::string& address, const std::filesystem::path& certificates,
                       const DoorLimits& limits) {
  require(!certificates.empty() || is_loopback(address), ErrorCode::invalid_config,
          "listening without certificates is for loopback only, got {}: see feroma cert", address);
  write_into_our_log(Handshakes::door_tells);
  const std::shared_ptr<grpc::ServerCredentials> credentials = mutual_credentials(certificates);
  parts_ = std::make_unique<Parts>(hub, address, certificates, limits);
  grpc::ServerBuilder builder;
  builder.RegisterService(&parts_->service);
  builder.SetMaxReceiveMessageSize(kLargestFrame);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  const auto connections = static_cast<std::size_t>(limits.connections);
  builder.SetResourceQuota(grpc::ResourceQuota("federation").Resize(kRoomBesides + connections * kRoomPerConnection));
  parts_->server.start(builder, credentials, limits, fmt::format("the server at {}", address));
}

GrpcServer::~GrpcServer() = default;

void GrpcServer::enforce_list() { parts_->service.enforce_list(); }

int GrpcServer::port() const { return parts_->door.port(); }

FrontDoor& GrpcServer::door() { return parts_->door; }

}  // namespace feroma::net
