// Who is let in over a real network, and who is not: each of them once, with one line in the log.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
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
#include "tests/core/temp_folder.h"
#include "tests/net/once.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

namespace fs = std::filesystem;

constexpr long kDay = 24 * 60 * 60;

std::size_t open_descriptors() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

/// Made once, because every file waits for the disk: an authority, a server at 127.0.0.1 and ::1, the clients good (0)
/// and revoked (1).
const fs::path& original() {
  static const testing::TempFolder folder;
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

Papers papers_of(const fs::path& authority, const CertificateFiles& own) {
  return {read_text(authority), read_text(own.certificate), read_text(own.key)};
}

std::shared_ptr<grpc::ChannelCredentials> tls(const Papers& papers) {
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
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
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
  testing::TempFolder folder_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::atomic<bool> stop_ = false;
};

constexpr const char* kRefusedByTls = "its certificate was refused";

// ---- certificates ----

TEST_F(Identity, OfAnExpiredCertificateIsRefused) {
  const Papers papers = forged(certs(), -2 * kDay, -kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfACertificateThatHasNotBegunIsRefused) {
  const Papers papers = forged(certs(), kDay, 2 * kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, ForgedWellWouldBeLetIn) {
  const Papers papers = forged(certs(), -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "welcome") << "the tests around this one must fail for their own reasons";
}

TEST_F(Identity, OfAnotherAuthorityIsRefused) {
  const testing::TempFolder other;
  make_authority(other.path());
  const Papers papers = forged(other.path(), -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, SignedByItselfIsRefused) {
  const Papers papers = forged({}, -kDay, kDay);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfAServerIsNotAClients) {
  const Papers papers = forged(certs(), -kDay, kDay, "serverAuth");
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, MustBeShown) {
  listen();
  EXPECT_EQ(knock(tls({read_text(authority()), "", ""})), "");
  expect_one_line(kRefusedByTls);
}

TEST_F(Identity, OfTheServerIsCheckedByItsName) {
  listen();
  EXPECT_EQ(knock(tls(good()), "other.example.org"), "");
  expect_one_line("it left");
}

TEST_F(Identity, OfTheServerIsCheckedByItsAuthority) {
  const testing::TempFolder other;
  make_authority(other.path());
  Papers papers = good();
  papers.authority = read_text(authority_files(other.path()).certificate);
  listen();
  EXPECT_EQ(knock(tls(papers)), "");
  expect_one_line("it left");
}

// ---- the list ----

TEST_F(Identity, ThatWasRevokedIsRefused) {
  listen();
  EXPECT_EQ(knock(tls(papers_of(authority(), client_files(certs(), "revoked")))),
            "the certificate of revoked was revoked");
  expect_one_line("the certificate of revoked was revoked");
}

TEST_F(Identity, ThatIsRevokedWhileItIsInsideIsSentAway) {
  listen();
  while_inside = [this] {
    EXPECT_TRUE(eventually([this] { return hub->present().size() == 1; })) << "the welcome comes before that";
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "who is on the list stays";
    revoke_client(certs(), "good");
    server->enforce_list();
    EXPECT_TRUE(eventually([this] { return hub->present().empty(); }));
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  ASSERT_EQ(lines().size(), 1U) << ::testing::PrintToString(lines());
  EXPECT_NE(lines().front().find("good is sent away: its certificate was revoked"), std::string::npos);
  EXPECT_EQ(hub->traffic().verdicts[v1::UNKNOWN_CLIENT], 1U);
}

// Nobody can read the list at first, as while somebody carries it over; then it can be read, and is as old as before.
TEST_F(Identity, ThatIsRevokedInAListThatCouldNotBeReadIsSentAwayLater) {
  listen();
  while_inside = [this] {
    EXPECT_TRUE(eventually([this] { return hub->present().size() == 1; }));
    server->enforce_list();
    const fs::path list = client_list_file(certs());
    revoke_client(certs(), "good");
    const std::string revoked = read_text(list);
    write_file_atomically(list, std::string_view("half\n"));
    const fs::file_time_type when = fs::last_write_time(list);
    server->enforce_list();
    server->enforce_list();
    EXPECT_EQ(hub->present().size(), 1U) << "nobody is shut out by a list that cannot be read";
    write_file_atomically(list, revoked);
    fs::last_write_time(list, when);
    server->enforce_list();
    EXPECT_TRUE(eventually([this] { return hub->present().empty(); }));
  };
  EXPECT_EQ(knock(tls(good())), "welcome");
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), 2U) << ::testing::PrintToString(written);
  EXPECT_NE(written.front().find("a line must be ID NAME FINGERPRINT"), std::string::npos) << written.front();
  EXPECT_NE(written.back().find("good is sent away: its certificate was revoked"), std::string::npos);
}

TEST_F(Identity, ThatIsRefusedManyTimesIsOneLineASecond) {
  listen();
  const Papers papers = papers_of(authority(), client_files(certs(), "revoked"));
  constexpr std::size_t kTimes = 8;
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < kTimes; ++i) {
    EXPECT_EQ(knock(tls(papers)), "the certificate of revoked was revoked");
    EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; }));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(hub->traffic().verdicts[v1::UNKNOWN_CLIENT], kTimes) << "each is counted";
  EXPECT_LE(static_cast<double>(lines().size()), 1 + seconds);
}

// After the look at the list, before there is a session that could be sent away.
TEST_F(Identity, ThatIsRevokedWhileItComesInIsSentAway) {
  listen();
  const Once revokes("hub.connected", [this] { revoke_client(certs(), "good"); });
  EXPECT_NE(knock(tls(good())), "welcome");
  EXPECT_TRUE(hub->present().empty());
  ASSERT_EQ(lines().size(), 1U) << ::testing::PrintToString(lines());
  EXPECT_NE(lines().front().find("good is sent away: its certificate was revoked"), std::string::npos);
}

TEST_F(Identity, ThatIsNotOnTheListIsRefused) {
  const Papers papers = forged(certs(), -kDay, kDay);
  fs::copy_file(original() / "clients.list", client_list_file(certs()), fs::copy_options::overwrite_existing);
  listen();
  const std::string reason = knock(tls(papers));
  EXPECT_EQ(reason, fmt::format("certificate {} is not on the list", fingerprint_of_pem(papers.certificate)));
  expect_one_line("is not on the list");
}

// ---- the channel ----

/// A client of OpenSSL's with good papers; the version that was agreed on, or 0.
int shake_hands(RawConnection& connection, const OwnedTls<SSL_CTX>& context, const fs::path& certs) {
  const CertificateFiles own = client_files(certs, "good");
  EXPECT_EQ(SSL_CTX_use_certificate_file(context.get(), own.certificate.c_str(), SSL_FILETYPE_PEM), 1);
  EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), own.key.c_str(), SSL_FILETYPE_PEM), 1);
  const std::array<unsigned char, 3> http2{2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), http2.data(), http2.size());
  const OwnedTls<SSL> tls(SSL_new(context.get()));
  SSL_set_fd(tls.get(), connection.get());
  return SSL_connect(tls.get()) == 1 ? SSL_version(tls.get()) : 0;
}

TEST_F(Identity, WithTls12AloneIsRefused) {
  listen();
  {
    RawConnection connection(server->port());
    const OwnedTls<SSL_CTX> context = tls_client_context(TLS1_2_VERSION, TLS1_2_VERSION);
    EXPECT_EQ(shake_hands(connection, context, certs()), 0);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_TLSV1_ALERT_PROTOCOL_VERSION);
    ERR_clear_error();
  }
  expect_one_line("it does not offer TLS 1.3");
}

TEST_F(Identity, WithTls11AloneIsRefused) {
  listen();
  {
    RawConnection connection(server->port());
    const OwnedTls<SSL_CTX> context = tls_client_context(TLS1_1_VERSION, TLS1_1_VERSION);
    EXPECT_EQ(shake_hands(connection, context, certs()), 0);
    ERR_clear_error();
  }
  expect_one_line("it does not offer TLS 1.3");
}

TEST_F(Identity, InPlainTextIsRefused) {
  listen();
  EXPECT_EQ(knock(grpc::InsecureChannelCredentials()), "");
  expect_one_line("it does not speak TLS");
}

TEST_F(Identity, OfAServerWithoutTlsIsRefused) {
  listen(/*secure=*/false);
  EXPECT_EQ(knock(tls(good())), "");
  expect_one_line("it left", /*secure=*/false);
}

/// Sends bytes as the first frame of a stream, and reads the server's answer.
v1::ServerFrame answer_to(const std::string& bytes, int port) {
  grpc::GenericStub stub(grpc::CreateChannel(fmt::format("127.0.0.1:{}", port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  grpc::CompletionQueue queue;
  const auto expect_done = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok) && ok);
  };
  const auto call = stub.PrepareCall(&context, "/feroma.v1.Federation/Train", &queue);
  call->StartCall(nullptr);
  expect_done();
  const grpc::Slice slice(bytes);
  call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
  expect_done();
  grpc::ByteBuffer answer;
  call->Read(&answer, nullptr);
  expect_done();
  v1::ServerFrame frame;
  EXPECT_TRUE(grpc::SerializationTraits<v1::ServerFrame>::Deserialize(&answer, &frame).ok());
  grpc::Status status;
  call->Finish(&status, nullptr);
  expect_done();
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
  return frame;
}

// Bytes that are no frame are not a connection that was lost.
TEST_F(Identity, OfWhoSendsNoFramesIsRefusedByName) {
  listen(/*secure=*/false);
  EXPECT_EQ(answer_to("\xff\xff\xff no frame", server->port()).goodbye().reason(), v1::MALFORMED);
  EXPECT_EQ(hub->traffic().verdicts[v1::MALFORMED], 1U);
  expect_one_line("refused (MALFORMED): what arrived is no frame", /*secure=*/false);
}

// ---- those who are let in ----

TEST_F(Identity, IsKnownAtTheDoor) {
  listen();
  DoorCounts inside;
  while_inside = [&] { inside = server->door().counts(); };
  EXPECT_EQ(knock(tls(good())), "welcome");
  EXPECT_EQ(inside.open, 1U);
  EXPECT_EQ(inside.strangers, 0U) << "gRPC calls a connection as the door does";
  EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; }));
}

TEST_F(Identity, IsKnownAtTheDoorByIpv6) {
  if (!fs::exists("/proc/net/if_inet6")) {
    GTEST_SKIP() << "this machine has no IPv6: names of its connections are NOT tested";
  }
  listen(/*secure=*/true, "[::]:0");
  DoorCounts inside;
  while_inside = [&] { inside = server->door().counts(); };
  for (const char* host : {"[::1]", "127.0.0.1"}) {
    SCOPED_TRACE(host);
    EXPECT_EQ(knock(tls(good()), "", host), "welcome");
    EXPECT_EQ(inside.open, 1U);
    EXPECT_EQ(inside.strangers, 0U);
    EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; }));
  }
}

// A handshake that succeeds is not enough: somebody must begin a stream.
TEST_F(Identity, MustBeUsedInTime) {
  limits.stranger_seconds = 1;
  listen();
  RawConnection connection(server->port());
  const OwnedTls<SSL_CTX> context = tls_client_context(TLS1_VERSION, TLS1_3_VERSION);
  EXPECT_EQ(shake_hands(connection, context, certs()), TLS1_3_VERSION) << "of all that was offered";
  connection.until_closed();
  expect_one_line("it did not show in time who it is");
}

TEST_F(Identity, LeavesNothingBehind) {
  listen();
  const Papers stranger = forged({}, -kDay, kDay);
  const auto visit = [&] {
    EXPECT_EQ(knock(tls(good())), "welcome");
    EXPECT_EQ(knock(tls(stranger)), "");
    RawConnection(server->port()).say("GET / HTTP/1.1\r\n\r\n");
    EXPECT_TRUE(eventually([&] { return server->door().counts().open == 0; }));
  };
  visit();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    visit();
  }
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; })) << open_descriptors() << " of " << before;
}

// Ten thousand connections of another address that say nothing, or rubbish, while clients come and go.
class IdentitySlow : public Identity {};

TEST_F(IdentitySlow, IsLetInDuringAFlood) {
  listen();
  EXPECT_EQ(knock(tls(good())), "welcome");
  const std::size_t before = open_descriptors();
  std::atomic<int> made = 0;
  std::jthread flood([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      RawConnection rude(server->port(), "127.0.0.2");
      if (made % 7 == 0) {
        static_cast<void>(rude.say("rubbish"));
      }
      made += 1;
    }
  });
  std::vector<double> seconds;
  std::size_t most = 0;
  while (made < 10'000 || seconds.size() < 200) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(knock(tls(good())), "welcome");
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    most = std::max(most, open_descriptors());
  }
  flood.request_stop();
  flood.join();
  std::sort(seconds.begin(), seconds.end());
  const double p99 = seconds.at(seconds.size() * 99 / 100);
  std::printf("%zu clients during %d connections, p50 %.1f ms, p99 %.1f ms, at most %zu descriptors more\n",
              seconds.size(), made.load(), 1e3 * seconds.at(seconds.size() / 2), 1e3 * p99, most - before);
  EXPECT_LT(p99, 1);
  EXPECT_LT(most, before + 64);
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));
}

}  // namespace
}  // namespace feroma::net::test
