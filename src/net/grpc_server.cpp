#include "net/grpc_server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>

#include <mutex>

#include "core/endpoint.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/net/certificates.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/guarded_server.h"
#include "net/train_stream.h"

namespace feroma::net {
namespace {

/// A client has one; another may come before the last one has ended.
constexpr int kStreamsPerConnection = 4;

/// gRPC and protobuf write to the standard error by themselves; what they say belongs into the log. The door has a line
/// of its own for every handshake that fails, and whoever sends text that is none must not fill the log with it.
void write_into_our_log() {
  static std::once_flag once;
  std::call_once(once, [] {
    gpr_set_log_function([](gpr_log_func_args* entry) {
      const bool handshake = std::string_view(entry->file).find("ssl_transport_security") != std::string_view::npos;
      const bool matters = entry->severity == GPR_LOG_SEVERITY_ERROR && !handshake;
      log::write(matters ? log::Severity::warning : log::Severity::debug,
                 fmt::format("gRPC: {}", printable(entry->message)));
    });
    google::protobuf::SetLogHandler([](google::protobuf::LogLevel, const char*, int, const std::string& message) {
      log::debug("protobuf: {}", printable(message));
    });
  });
}

using Refused = RefusedStream<v1::ClientFrame, v1::ServerFrame>;

std::shared_ptr<grpc::ServerCredentials> credentials_of(const std::filesystem::path& certificates) {
  if (certificates.empty()) {
    return grpc::InsecureServerCredentials();
  }
  // A certificate that is about to expire must not keep a server from starting again; what TLS cannot use, it refuses.
  for (const std::string& problem : check_certificates(certificates)) {
    log::warning("{}: {}", certificates.string(), problem);
  }
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = read_text(authority_files(certificates).certificate);
  const CertificateFiles own = server_files(certificates);
  options.pem_key_cert_pairs.push_back({read_text(own.key), read_text(own.certificate)});
  return grpc::SslServerCredentials(options);
}

class Service final : public v1::Federation::CallbackService {
 public:
  /// Without `certificates` everybody is who they say.
  Service(Hub& hub, FrontDoor& door, std::filesystem::path certificates)
      : hub_(hub), door_(door), certificates_(std::move(certificates)) {}

  grpc::ServerBidiReactor<v1::ClientFrame, v1::ServerFrame>* Train(grpc::CallbackServerContext* context) override {
    Peer peer{context->peer(), std::nullopt, ""};
    const std::optional<std::filesystem::file_time_type> looked = list_written();
    if (!certificates_.empty()) {
      try {
        const ClientEntry client = allowed_client(*context->auth_context());
        peer.id = client.id;
        peer.name = client.name;
        peer.fingerprint = client.fingerprint;
      } catch (const Error& error) {
        log::warning("{}: refused: {}", peer.address, error.what());
        door_.turned_away(peer.address);
        hub_.refused(v1::UNKNOWN_CLIENT);
        // A list that cannot be read just now is the server's trouble, not the client's.
        return new Refused(error.code() == ErrorCode::unsupported
                               ? grpc::Status(grpc::StatusCode::UNAUTHENTICATED, error.what())
                               : grpc::Status(grpc::StatusCode::UNAVAILABLE, "come again"));
      }
    }
    door_.authenticated(peer.address);
    TrainStream* stream = TrainStream::open(hub_, scribe_, *context, std::move(peer));
    if (list_written() != looked) {  // it may have been revoked before there was a session to send away
      send_revoked_away();
    }
    return stream;
  }

  void enforce_list() {
    const std::optional<std::filesystem::file_time_type> written = list_written();
    if (written && written != enforced_) {
      enforced_ = written;
      send_revoked_away();
    }
  }

 private:
  /// When the list was written; absent without certificates, and while it cannot be looked at.
  [[nodiscard]] std::optional<std::filesystem::file_time_type> list_written() const {
    std::error_code unknown;
    const auto written = std::filesystem::last_write_time(client_list_file(certificates_), unknown);
    return certificates_.empty() || unknown ? std::nullopt : std::optional(written);
  }

  void send_revoked_away() {
    try {
      const ClientList list = read_client_list(client_list_file(certificates_));
      // Who is not on it at all may be in the part of the file that somebody is still writing.
      hub_.send_away(
          [&](const Peer& peer) {
            const std::optional<ClientEntry> client = list.find(peer.fingerprint);
            return client && client->revoked;
          },
          {v1::UNKNOWN_CLIENT, "its certificate was revoked", 0});
    } catch (const Error& error) {
      // Nobody is shut out by a list that cannot be read; nobody is let in either.
      log::warning("{}", error.what());
    }
  }

  /// The list is read for each connection, so that whoever is revoked stays out from then on.
  [[nodiscard]] ClientEntry allowed_client(const grpc::AuthContext& context) const {
    const std::vector<grpc::string_ref> pem = context.FindPropertyValues("x509_pem_cert");
    require(pem.size() == 1, ErrorCode::unsupported, "a client must show one certificate");
    const std::string fingerprint = fingerprint_of_pem(std::string(pem.front().data(), pem.front().size()));
    const std::optional<ClientEntry> client = read_client_list(client_list_file(certificates_)).find(fingerprint);
    require(client.has_value(), ErrorCode::unsupported, "certificate {} is not on the list", fingerprint);
    require(!client->revoked, ErrorCode::unsupported, "the certificate of {} was revoked", client->name);
    return *client;
  }

  Hub& hub_;
  FrontDoor& door_;
  const std::filesystem::path certificates_;
  std::optional<std::filesystem::file_time_type> enforced_;  ///< when the list was written that was looked at last
  Scribe scribe_;
};

}  // namespace

class GrpcServer::Parts {
 public:
  Parts(Hub& hub, const std::string& address, const std::filesystem::path& certificates, const DoorLimits& limits)
      : door(address, limits, /*tls=*/!certificates.empty()), service(hub, door, certificates), server(door) {}

  FrontDoor door;
  Service service;
  GuardedServer server;
};

GrpcServer::GrpcServer(Hub& hub, const std::string& address, const std::filesystem::path& certificates,
                       const DoorLimits& limits) {
  require(!certificates.empty() || is_loopback(address), ErrorCode::invalid_config,
          "listening without certificates is for loopback only, got {}: see feroma cert", address);
  write_into_our_log();
  const std::shared_ptr<grpc::ServerCredentials> credentials = credentials_of(certificates);
  parts_ = std::make_unique<Parts>(hub, address, certificates, limits);
  grpc::ServerBuilder builder;
  builder.RegisterService(&parts_->service);
  builder.SetMaxReceiveMessageSize(kLargestFrame);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kStreamsPerConnection);
  parts_->server.start(builder, credentials, limits, fmt::format("the server at {}", address));
}

GrpcServer::~GrpcServer() = default;

void GrpcServer::enforce_list() { parts_->service.enforce_list(); }

int GrpcServer::port() const { return parts_->door.port(); }

FrontDoor& GrpcServer::door() { return parts_->door; }

}  // namespace feroma::net
