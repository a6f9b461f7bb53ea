// How one is let in over a real network: the handshake, the first frame, and what is left behind.
#include <grpcpp/generic/generic_stub.h>

#include "tests/net/identity_fixture.h"

namespace feroma::net::test {
namespace {

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
  limits.stranger_seconds = 0.5;
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
