#pragma once

#include <fmt/core.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/x509.h>

#include <filesystem>
#include <mutex>

#include "feroma/core/files.h"
#include "feroma/core/log.h"
#include "feroma/core/rng.h"
#include "feroma/models/spec.h"
#include "feroma/net/certificates.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/grpc_server.h"
#include "net/x509.h"
#include "tests/clocks.h"
#include "tests/core/temp_folder.h"
#include "tests/net/once.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {

namespace fs = std::filesystem;

constexpr long kDay = 24 * 60 * 60;

/// Made once, because every file waits for the disk: an authority, a server at 127.0.0.1 and ::1, the clients good (0)
/// and revoked (1).
inline const fs::path& original() {
  static const feroma::test::TempFolder folder;
  static const bool made = [] {
    make_authority(folder.path());
    issue_server(folder.path(), {"127.0.0.1", "::1", "fed.example.org"});
    issue_client(folder.path(), "good");
    issue_client(folder.path(), "revoked");
    revoke_client(folder.path(), "revoked");
    return true;
  }();
  static_cast<void>(made);
  return folder.path();
}

/// How a client shows who it is, as texts in PEM form.
struct Papers {
  std::string authority;
  std::string certificate;
  std::string key;
};

inline Papers papers_of(const fs::path& authority, const CertificateFiles& own) {
  return {read_text(authority), read_text(own.certificate), read_text(own.key)};
}

inline std::shared_ptr<grpc::ChannelCredentials> tls(const Papers& papers) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = papers.authority;
  options.pem_cert_chain = papers.certificate;
  options.pem_private_key = papers.key;
  return grpc::SslCredentials(options);
}

class Identity : public ::testing::Test {
 protected:
  Identity() {
    fs::copy(original(), certs(), fs::copy_options::recursive);
    log::set_sink([this](const log::Entry& entry) {
      if (entry.severity == log::Severity::warning) {
        const std::lock_guard lock(mutex_);
        lines_.emplace_back(entry.message);
      }
    });
    const ParametersPtr initial = share(initialise(make_model("mlp", {1, 3, 3}, 3), Rng(1)));
    hub = std::make_unique<Hub>(Hub::Job{"job", "", initial->shared_layout(), true, 4}, ServerOptions(), Hub::Past(),
                                stop_);
  }
  ~Identity() override {
    server.reset();
    log::set_sink({});
  }

  void listen(bool secure = true, const std::string& address = "127.0.0.1:0") {
    server = std::make_unique<GrpcServer>(*hub, address, secure ? certs() : fs::path(), limits);
  }
  [[nodiscard]] fs::path folder() const { return folder_.path(); }
  [[nodiscard]] fs::path certs() const { return folder_ / "certs"; }
  [[nodiscard]] fs::path authority() const { return authority_files(certs()).certificate; }
  [[nodiscard]] Papers good() const { return papers_of(authority(), client_files(certs(), "good")); }

  /// Papers that `feroma cert` would not make, on the list all the same: dates in seconds from now, signed with the
  /// authority of a folder or, without one, with their own key.
  [[nodiscard]] Papers forged(const fs::path& signer, long begin, long end, const char* purpose = "clientAuth") {
    Wanted wanted{{}, "forged", 1};
    wanted.purpose = purpose;
    std::optional<net::Identity> issuer;
    if (!signer.empty()) {
      const CertificateFiles files = authority_files(signer);
      issuer = net::Identity{parse_certificate(read_text(files.certificate), "authority"),
                             parse_key(read_text(files.key), "key")};
    }
    const net::Identity made = certify(wanted, issuer ? &*issuer : nullptr);
    X509* certificate = made.certificate.get();
    X509_gmtime_adj(X509_getm_notBefore(certificate), begin);
    X509_gmtime_adj(X509_getm_notAfter(certificate), end);
    EXPECT_GT(X509_sign(certificate, issuer ? issuer->key.get() : made.key.get(), EVP_sha256()), 0);
    Papers papers{read_text(authority()), pem_of(*certificate), pem_of(*made.key)};
    add_to_client_list(client_list_file(certs()), {ClientId{3}, "forged", fingerprint_of_pem(papers.certificate)});
    return papers;
  }

  /// Connects once and says hello. What came of it: "welcome", the server's words, or "" where there was no connection.
  std::string knock(const std::shared_ptr<grpc::ChannelCredentials>& credentials, const std::string& name = "",
                    const std::string& host = "127.0.0.1") {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 60'000);
    if (!name.empty()) {
      arguments.SetSslTargetNameOverride(name);
    }
    const std::shared_ptr<grpc::Channel> channel =
        grpc::CreateCustomChannel(fmt::format("{}:{}", host, server->port()), credentials, arguments);
    const auto deadline = std::chrono::system_clock::now() + std::chrono::seconds(20);
    for (auto state = channel->GetState(true); state != GRPC_CHANNEL_READY; state = channel->GetState(true)) {
      if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
        return "";
      }
      EXPECT_TRUE(channel->WaitForStateChange(state, deadline));
    }
    const std::unique_ptr<v1::Federation::Stub> stub = v1::Federation::NewStub(channel);
    grpc::ClientContext context;
    context.set_deadline(deadline);
    const auto stream = stub->Train(&context);
    v1::ClientFrame hello;
    hello.set_counter(1);
    hello.mutable_hello()->set_protocol(kProtocol);
    static_cast<void>(stream->Write(hello));
    v1::ServerFrame answer;
    const bool answered = stream->Read(&answer);
    if (answered) {
      while_inside();
      context.TryCancel();
    }
    const grpc::Status status = stream->Finish();
    return answered && answer.has_welcome() ? "welcome" : status.error_message();
  }

  [[nodiscard]] std::vector<std::string> lines() {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  /// What was done must leave one line with this text, and nobody inside; and a good client still gets in.
  void expect_one_line(const std::string& text, bool secure = true) {
    EXPECT_TRUE(eventually([&] { return !lines().empty() && server->door().counts().open == 0; }));
    const std::vector<std::string> written = lines();
    ASSERT_EQ(written.size(), 1U) << ::testing::PrintToString(written);
    EXPECT_NE(written.front().find(text), std::string::npos) << written.front();
    EXPECT_TRUE(hub->present().empty());
    EXPECT_EQ(knock(secure ? tls(good()) : grpc::InsecureChannelCredentials()), "welcome");
    EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; })) << "its place is free again";
    EXPECT_EQ(lines().size(), 1U) << "good clients are not written about";
  }

  DoorLimits limits;
  std::unique_ptr<Hub> hub;
  std::unique_ptr<GrpcServer> server;
  std::function<void()> while_inside = [] {};

 private:
  feroma::test::TempFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  Stop stop_;
};

}  // namespace feroma::net::test
