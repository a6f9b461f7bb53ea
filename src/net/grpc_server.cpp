#include "net/grpc_server.h"

#include <grpcpp/grpcpp.h>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/net/certificates.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/endpoint.h"
#include "net/train_stream.h"

namespace feroma::net {
namespace {

/// One frame: a piece and what is around it.
constexpr int kLargestFrame = static_cast<int>(kPieceSize) + (4 << 10);

/// Ends a stream before it begins.
class RefusedStream final : public grpc::ServerBidiReactor<v1::ClientFrame, v1::ServerFrame> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

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
  Service(Hub& hub, std::filesystem::path certificates) : hub_(hub), certificates_(std::move(certificates)) {}

  grpc::ServerBidiReactor<v1::ClientFrame, v1::ServerFrame>* Train(grpc::CallbackServerContext* context) override {
    Peer peer{context->peer(), std::nullopt, ""};
    if (!certificates_.empty()) {
      try {
        const ClientEntry client = allowed_client(*context->auth_context());
        peer.id = client.id;
        peer.name = client.name;
      } catch (const Error& error) {
        log::warning("{}: refused: {}", peer.address, error.what());
        hub_.refused(v1::UNKNOWN_CLIENT);
        // A list that cannot be read just now is the server's trouble, not the client's.
        return new RefusedStream(error.code() == ErrorCode::unsupported
                                     ? grpc::Status(grpc::StatusCode::UNAUTHENTICATED, error.what())
                                     : grpc::Status(grpc::StatusCode::UNAVAILABLE, "come again"));
      }
    }
    return TrainStream::open(hub_, scribe_, *context, std::move(peer));
  }

 private:
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
  const std::filesystem::path certificates_;
  Scribe scribe_;
};

}  // namespace

class GrpcServer::Parts {
 public:
  Parts(Hub& hub, const std::filesystem::path& certificates) : service(hub, certificates) {}

  Service service;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

GrpcServer::GrpcServer(Hub& hub, const std::string& address, const std::filesystem::path& certificates)
    : parts_(std::make_unique<Parts>(hub, certificates)) {
  require(!certificates.empty() || is_loopback(address), ErrorCode::invalid_config,
          "listening without certificates is for loopback only, got {}: see feroma cert", address);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address, credentials_of(certificates), &parts_->port);
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
