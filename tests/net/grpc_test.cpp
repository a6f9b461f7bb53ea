// A server and its clients in one process, with a network between them.
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <functional>
#include <new>
#include <optional>

#include "feroma/net/certificates.h"
#include "feroma/net/client.h"
#include "feroma/net/server.h"
#include "feroma/net/visit.h"
#include "feroma/v1/federation.grpc.pb.h"
#include "net/grpc_link.h"
#include "net/message_stream.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

class OverGrpc : public FederationTest {
 protected:
  void work(int id, int port) {
    ClientPlan client;
    client.server = fmt::format("127.0.0.1:{}", port);
    client.state = folder / fmt::format("client-{}", id);
    client.id = static_cast<std::uint32_t>(id);
    client.clock = &feroma::test::fast_clock();
    client.connect_seconds = 100;  // five seconds
    client.first_pause_seconds = 1;
    client.longest_pause_seconds = 4;
    if (std::filesystem::exists(folder / "certs")) {
      client.authority = authority_files(folder / "certs").certificate;
      const CertificateFiles own = client_files(folder / "certs", fmt::format("site-{}", id));
      client.certificate = own.certificate;
      client.key = own.key;
      client.id = {};  // the certificate says who it is
    }
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, static_cast<ClientId>(id));
    run_client(client, *data, stop);
  }
};

TEST_F(OverGrpc, GivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
  const auto expected = simulated(what);
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  for (int id = 0; id < what.scenario.clients; ++id) {
    static_cast<void>(issue_client(folder / "certs", fmt::format("site-{}", id), static_cast<ClientId>(id)));
  }
  const FederationPlan todo = plan(what);
  FederationServer server(todo, {"127.0.0.1:0", folder / "certs"}, stop);
  std::vector<std::jthread> clients;
  for (int id = 0; id < what.scenario.clients; ++id) {
    clients.emplace_back([this, id, &server] { work(id, server.port()); });
  }
  server.run();
  clients.clear();
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

TEST_F(OverGrpc, WhoIsNotOnTheListStaysOut) {
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  static_cast<void>(issue_client(folder / "certs", "site-0", ClientId{0}));
  static_cast<void>(issue_client(folder / "certs", "site-1", ClientId{1}));
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const FederationServer server(todo, {"127.0.0.1:0", folder / "certs"}, stop);
  revoke_client(folder / "certs", "site-1");
  const std::string revoked = feroma::test::error_of(ErrorCode::unsupported, [&] { work(1, server.port()); });
  EXPECT_TRUE(feroma::test::holds(revoked, "the certificate of site-1 was revoked"));
  std::filesystem::remove(client_list_file(folder / "certs"));
  add_to_client_list(client_list_file(folder / "certs"), {ClientId{7}, "somebody-else", std::string(64, 'd')});
  const std::string unknown = feroma::test::error_of(ErrorCode::unsupported, [&] { work(0, server.port()); });
  EXPECT_TRUE(feroma::test::holds(unknown, "is not on the list"));
}

/// Somebody for whom no memory is left.
struct Nobody {
  static bool aborted() {
    asked = true;
    return false;
  }
  static bool closing() { return false; }
  static std::optional<v1::ServerFrame> next() { return std::nullopt; }
  static void wrote() {}
  static void receive(const v1::ClientFrame&) {}
  static void receive_unreadable() {}
  static void receive_failed(const std::exception&) {}
  static void disconnected() {}

  static inline std::atomic<bool> asked = false;
};

// It would keep itself until it is done, and a stream that was never begun never is.
TEST(MessageStream, WithoutATalkIsGone) {
  using Stream = MessageStream<Nobody, v1::ClientFrame>;
  grpc::CallbackServerContext context;
  std::function<void()> news;
  {
    Scribe scribe;
    EXPECT_THROW(Stream::open(scribe, context,
                              [&](std::function<void()> wake) -> std::shared_ptr<Nobody> {
                                news = std::move(wake);
                                throw std::bad_alloc();
                              }),
                 std::bad_alloc);
    news();  // the scribe finds nobody whom it could have write
  }
  EXPECT_FALSE(Nobody::asked);
}

// Whoever is let in could otherwise open any number of them without saying hello on one.
TEST_F(OverGrpc, AConnectionHasFewStreams) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const FederationServer server(todo, {"127.0.0.1:0", {}}, stop);
  const std::unique_ptr<v1::Federation::Stub> stub = v1::Federation::NewStub(
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", server.port()), grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  grpc::CompletionQueue queue;
  std::vector<std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::ClientFrame, v1::ServerFrame>>> calls;
  for (int i = 0; i < 20; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    calls.push_back(stub->AsyncTrain(contexts.back().get(), &queue, nullptr));
  }
  EXPECT_TRUE(eventually([&] { return server.status().connections >= 4; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // a fifth would have come by then
  EXPECT_EQ(server.status().connections, 4U);
  for (const auto& context : contexts) {
    context->TryCancel();
  }
  queue.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
  }
}

// A channel whose stream has ended costs two descriptors for nothing.
TEST_F(OverGrpc, AConnectionWithoutAStreamIsEnded) {
  FederationPlan todo = plan(experiment("name = 'fedavg'"));
  todo.server.stranger_seconds = 400;  // twenty seconds: it is not the door that ends it
  todo.server.dead_seconds = 6;        // 0.3 seconds
  const FederationServer server(todo, {"127.0.0.1:0", {}}, stop);
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", server.port()), grpc::InsecureChannelCredentials());
  const auto until = std::chrono::system_clock::now() + std::chrono::seconds(10);
  ASSERT_TRUE(channel->WaitForConnected(until));
  EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, until));
}

TEST_F(OverGrpc, AClientsTimesFollowItsClock) {
  ClientPlan client;
  client.server = "127.0.0.1:1";  // nobody is there
  const feroma::test::ScaledClock clock(0.02);
  client.clock = &clock;
  const auto start = Clock::machine().now();
  EXPECT_EQ(connect(client, stop).link, nullptr);
  EXPECT_LT(Clock::machine().now() - start, std::chrono::seconds(2)) << "a fiftieth of five";
}

TEST_F(OverGrpc, AClientThatConnectsStopsWhenItIsToldTo) {
  ClientPlan client;
  client.server = "127.0.0.1:1";  // nobody is there
  client.connect_seconds = 60;
  const std::jthread teller([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    stop.request();
  });
  const auto start = Clock::machine().now();
  EXPECT_EQ(connect(client, stop).link, nullptr);
  EXPECT_LT(Clock::machine().now() - start, std::chrono::seconds(10));
}

TEST_F(OverGrpc, AClientThatCannotConnectSaysWhy) {
  ClientPlan client;
  client.server = "127.0.0.1:1";  // nobody is there
  client.connect_seconds = 0.25;
  client.state = folder / "client";
  client.id = 0;
  std::string line;
  client.note = [&](const std::string& text, std::initializer_list<log::Field>) {
    line = text;
    stop.request();
  };
  federation = read_once(experiment("name = 'fedavg'"));
  const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{0});
  static_cast<void>(feroma::test::error_of(ErrorCode::interrupted, [&] { run_client(client, *data, stop); }));
  EXPECT_TRUE(line.starts_with("no connection: ipv4:127.0.0.1:1: ")) << line;
  EXPECT_TRUE(feroma::test::holds(line, "Connection refused; again in "));
}

TEST_F(OverGrpc, AVisitorThatCannotConnectSaysWhy) {
  ClientPlan visitor;
  visitor.server = "127.0.0.1:1";  // nobody is there
  visitor.connect_seconds = 0.25;
  const View samples{};
  const std::string error = feroma::test::error_of(ErrorCode::io, [&] {
    static_cast<void>(visit_server(
        visitor, [&](const DataNames&) { return VisitorSamples{samples}; }, {}, /*wait_seconds=*/0, stop));
  });
  EXPECT_TRUE(feroma::test::holds(error, "127.0.0.1:1 cannot be reached: "));
  EXPECT_TRUE(feroma::test::holds(error, "Connection refused"));
}

TEST_F(OverGrpc, WhatIsWrongWithACertificateIsSaid) {
  for (const std::string certs : {"certs", "other"}) {
    make_authority(folder / certs);
    static_cast<void>(issue_client(folder / certs, "site-0"));
  }
  issue_server(folder / "certs", {"127.0.0.1"});
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const FederationServer server(todo, {"0.0.0.0:0", folder / "certs"}, stop);
  const auto reason = [&](const std::string& authority, const std::string& own, const std::string& host) {
    ClientPlan client;
    client.server = fmt::format("{}:{}", host, server.port());
    client.connect_seconds = 0.3;
    client.authority = authority_files(folder / authority).certificate;
    client.certificate = client_files(folder / own, "site-0").certificate;
    client.key = client_files(folder / own, "site-0").key;
    return connect(client, stop).reason;
  };
  EXPECT_EQ(reason("certs", "certs", "127.0.0.1"), "") << "nothing is wrong";
  EXPECT_TRUE(feroma::test::holds(reason("other", "certs", "127.0.0.1"), "certificate verify failed"));
  EXPECT_TRUE(
      feroma::test::holds(reason("other", "certs", "127.0.0.1"), "is not signed by the authority that was given"));
  EXPECT_TRUE(feroma::test::holds(reason("certs", "certs", "127.0.0.2"), "127.0.0.2 is not in peer certificate"));
  EXPECT_TRUE(
      feroma::test::holds(reason("certs", "other", "127.0.0.1"), "the server may refuse this client's certificate"));
}

// It would try for ever, and gRPC says nothing that helps.
TEST_F(OverGrpc, WhatCanNeverConnectIsRefusedAtOnce) {
  make_authority(folder / "certs");
  for (const char* name : {"site-0", "site-1"}) {
    static_cast<void>(issue_client(folder / "certs", name));
  }
  ClientPlan client;
  client.authority = authority_files(folder / "certs").certificate;
  client.certificate = client_files(folder / "certs", "site-0").certificate;
  client.key = client_files(folder / "certs", "site-0").key;
  EXPECT_NO_THROW(require_connectable(client));
  for (const char* good : {"fed.example.org:7443", "[::1]:1", "localhost:65535"}) {
    client.server = good;
    EXPECT_NO_THROW(require_connectable(client)) << good;
  }
  for (const std::string bad : {"10.0.0.1", "10.0.0.1:port", "https://10.0.0.1:7443", ":7443", "fed:0", "fed:65536",
                                "fed:74 43", "::1:7443", "fed:", ""}) {
    client.server = bad;
    const std::string error = feroma::test::error_of(ErrorCode::invalid_config, [&] { require_connectable(client); });
    EXPECT_TRUE(feroma::test::holds(error, "must be HOST:PORT")) << bad;
    EXPECT_TRUE(feroma::test::holds(error, fmt::format("got \"{}\"", bad))) << error;
  }
  client.server = "127.0.0.1:1";
  client.key = client_files(folder / "certs", "site-1").key;
  EXPECT_TRUE(feroma::test::holds(feroma::test::error_of(ErrorCode::invalid_data, [&] { require_connectable(client); }),
                                  "site-1.key: does not belong to "));
  std::swap(client.certificate, client.key);
  EXPECT_THROW(require_connectable(client), Error) << "in each other's place";
  client.authority = folder / "nowhere.pem";
  EXPECT_THROW(require_connectable(client), Error);
}

TEST_F(OverGrpc, AServerWithAnothersKeyDoesNotStart) {
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  static_cast<void>(issue_client(folder / "certs", "site-0"));
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  std::filesystem::copy_file(client_files(folder / "certs", "site-0").key, server_files(folder / "certs").key,
                             std::filesystem::copy_options::overwrite_existing);
  const std::string error = feroma::test::error_of(ErrorCode::invalid_data, [&] {
    FederationServer server(todo, {"127.0.0.1:0", folder / "certs"}, stop);
  });
  EXPECT_TRUE(feroma::test::holds(error, "server.key: does not belong to "));
}

TEST_F(OverGrpc, PlainTextIsForLoopbackOnly) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const std::string error = feroma::test::error_of(ErrorCode::invalid_config, [&] {
    FederationServer server(todo, {"0.0.0.0:0", {}}, stop);
  });
  EXPECT_TRUE(feroma::test::holds(error, "loopback only"));
}

}  // namespace
}  // namespace feroma::net::test
