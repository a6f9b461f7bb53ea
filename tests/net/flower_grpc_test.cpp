// Our Flower clients at our Flower server, with a network between them.
#include <flwr/proto/transport.grpc.pb.h>
#include <grpcpp/grpcpp.h>

#include "feroma/net/certificates.h"
#include "feroma/net/flower.h"
#include "net/flower_scalars.h"
#include "net/flower_service.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/tls_tools.h"

namespace feroma::net::test {
namespace {

using feroma::test::error_of;
using feroma::test::holds;

class FlowerOverGrpc : public FederationTest {
 protected:
  FlowerClientPlan client_plan(const Experiment& what, std::uint32_t id, int port) {
    FlowerClientPlan client;
    client.server = fmt::format("127.0.0.1:{}", port);
    client.id = id;
    client.training = what.training;
    client.seed = static_cast<std::uint64_t>(what.scenario.seed);
    client.clock = &feroma::test::fast_clock();
    client.connect_seconds = 100;  // five seconds
    client.first_pause_seconds = 1;
    client.longest_pause_seconds = 4;
    if (std::filesystem::exists(folder / "certs")) {
      client.authority = authority_files(folder / "certs").certificate;
    }
    return client;
  }
  void work(const FlowerClientPlan& plan) {
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, static_cast<ClientId>(plan.id));
    run_flower_client(plan, *data, stop);
  }
  /// Gives up on the silent, as a server does.
  static std::jthread sweeper(Coordinator& coordinator) {
    return std::jthread([&](const std::stop_token& end) {
      while (feroma::test::fast_clock().rest_for(0.4, end)) {
        coordinator.hub().sweep();
      }
    });
  }
};

TEST_F(FlowerOverGrpc, GivesTheBitsOfTheSimulator) {
  const Experiment what = experiment("name = 'fedprox'\nmu = 0.1", {"scenario.clients=3"});
  const auto expected = simulated(what);
  make_authority(folder / "certs");
  issue_server(folder / "certs", {"127.0.0.1"});
  FederationPlan todo = plan(what);
  todo.server.heartbeat_seconds = 1;  // 0.05 of it
  todo.server.dead_seconds = 20;
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {"127.0.0.1:0", folder / "certs"});
  const std::jthread sweep = sweeper(coordinator);
  std::vector<std::jthread> clients;
  for (std::uint32_t id = 0; id < 3; ++id) {
    clients.emplace_back([this, client = client_plan(what, id, server.port())] { work(client); });
  }
  coordinator.run();
  clients.clear();
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

TEST_F(FlowerOverGrpc, PlainTextIsForLoopbackOnly) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  Coordinator coordinator(todo, stop);
  const std::string server = error_of(ErrorCode::invalid_config,
                                      [&] { const FlowerServer everywhere(coordinator.hub(), todo, {"0.0.0.0:0"}); });
  EXPECT_TRUE(holds(server, "loopback only, got 0.0.0.0:0"));
  FlowerClientPlan client = client_plan(todo.experiment, 0, 1);
  client.server = "192.0.2.1:8080";
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { work(client); }), "loopback only"));
}

// It would send its model and its counts as if nothing had been asked for.
TEST_F(FlowerOverGrpc, AClientThatAsksForPrivacyJoinsNone) {
  FlowerClientPlan client = client_plan(plan(experiment("name = 'fedavg'")).experiment, 0, 1);
  stop.request();
  EXPECT_TRUE(holds(error_of(ErrorCode::interrupted, [&] { work(client); }), "told to stop"));
  for (const PrivacyMode mode : {PrivacyMode::paper, PrivacyMode::pure, PrivacyMode::gaussian}) {
    client.privacy.mode = mode;
    EXPECT_TRUE(holds(error_of(ErrorCode::invalid_config, [&] { work(client); }),
                      "privacy.mode must be off for a client of a Flower server"));
  }
}

/// A peer that does nothing by itself.
class RawPeer {
 public:
  explicit RawPeer(int port)
      : stub_(flower::FlowerService::NewStub(
            grpc::CreateChannel(fmt::format("127.0.0.1:{}", port), grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Join(&context_);
  }
  ~RawPeer() {
    if (!ended_) {
      context_.TryCancel();
      static_cast<void>(end());
    }
  }

  bool hears() { return stream_->Read(&heard); }
  bool says(const flower::ClientMessage& message) { return stream_->Write(message); }
  grpc::StatusCode end() {
    ended_ = true;
    return stream_->Finish().error_code();
  }
  flower::ServerMessage heard;

 private:
  std::unique_ptr<flower::FlowerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<flower::ClientMessage, flower::ServerMessage>> stream_;
  bool ended_ = false;
};

TEST_F(FlowerOverGrpc, StrangersDoNotUseUpTheServer) {
  FederationPlan todo = plan(experiment("name = 'fedavg'"));
  todo.server.stranger_seconds = 400;  // twenty seconds: they may stay that long
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {"127.0.0.1:0"});
  {
    std::vector<std::unique_ptr<RawPeer>> strangers;
    for (int i = 0; i < 6 + 16; ++i) {
      strangers.push_back(std::make_unique<RawPeer>(server.port()));
      ASSERT_TRUE(strangers.back()->hears());
      EXPECT_TRUE(strangers.back()->heard.has_get_properties_ins()) << "the server speaks first";
    }
    RawPeer one_more(server.port());
    EXPECT_FALSE(one_more.hears());
    EXPECT_EQ(one_more.end(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(server.door().counts().refused.at("connection_limit"), 1U) << "it is counted";
    EXPECT_TRUE(coordinator.hub().present().empty()) << "nobody has said who it is";
  }
  flower::ClientMessage huge;
  huge.mutable_get_properties_res()->mutable_status()->set_message(std::string(std::size_t{4} << 20, 'x'));
  auto large = std::make_unique<RawPeer>(server.port());
  while (!large->hears()) {  // the others may not be gone yet
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    large = std::make_unique<RawPeer>(server.port());
  }
  static_cast<void>(large->says(huge));
  EXPECT_FALSE(large->hears());
  EXPECT_NE(large->end(), grpc::StatusCode::OK);
}

TEST_F(FlowerOverGrpc, AConnectionHasItsTimeToSayWhoItIs) {
  FederationPlan todo = plan(experiment("name = 'fedavg'"));
  todo.server.stranger_seconds = 4;  // a fifth of a second
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {"127.0.0.1:0"});
  const auto too_slow = [&] { return server.door().counts().refused.at("too_slow"); };
  RawConnection mute(server.port());
  mute.until_closed();
  EXPECT_TRUE(eventually([&] { return too_slow() == 1; }));
  {
    RawPeer peer(server.port());
    ASSERT_TRUE(peer.hears());
    EXPECT_FALSE(peer.hears()) << "it was asked who it is, and its time is over";
    EXPECT_EQ(too_slow(), 2U);
  }
  RawPeer peer(server.port());
  ASSERT_TRUE(peer.hears());
  flower::ClientMessage name;
  put(*name.mutable_get_properties_res()->mutable_properties(), "cid", std::int64_t{2});
  ASSERT_TRUE(peer.says(name));
  ASSERT_TRUE(eventually([&] { return coordinator.hub().is_present(ClientId{2}); }));
  RawConnection later(server.port());
  later.until_closed();
  EXPECT_TRUE(eventually([&] { return too_slow() == 3; }));
  EXPECT_TRUE(coordinator.hub().is_present(ClientId{2})) << "who is known may stay";
  EXPECT_TRUE(eventually([&] { return server.door().counts().strangers == 0; }));
}

TEST_F(FlowerOverGrpc, ConnectionsInAllAreLimited) {
  FederationPlan todo = plan(experiment("name = 'fedavg'"));
  todo.server.stranger_seconds = 400;
  todo.server.connections = 3;
  ListenOptions listen{"127.0.0.1:0", {}};
  listen.flower = FlowerOptions{"127.0.0.1:0"};
  const FederationServer server(todo, listen, stop);
  std::vector<RawConnection> inside;
  for (int i = 0; i < 3; ++i) {
    inside.emplace_back(server.flower_port());
  }
  RawConnection more(server.flower_port());
  more.until_closed();
  EXPECT_TRUE(eventually([&] { return server.status().refused.at("connection_limit") == 1; })) << "and it is counted";
}

// A channel whose stream has ended costs two descriptors for nothing.
TEST_F(FlowerOverGrpc, AConnectionWithoutAStreamIsEnded) {
  FederationPlan todo = plan(experiment("name = 'fedavg'"));
  todo.server.stranger_seconds = 400;
  todo.server.dead_seconds = 6;  // 0.3 seconds
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {"127.0.0.1:0"});
  const std::shared_ptr<grpc::Channel> channel =
      grpc::CreateChannel(fmt::format("127.0.0.1:{}", server.port()), grpc::InsecureChannelCredentials());
  const auto until = std::chrono::system_clock::now() + std::chrono::seconds(10);
  ASSERT_TRUE(channel->WaitForConnected(until));
  EXPECT_TRUE(channel->WaitForStateChange(GRPC_CHANNEL_READY, until)) << "the server ends it";
  EXPECT_TRUE(eventually([&] { return server.door().counts().open == 0; }));
}

/// Data that take long to be looked at, once.
class SlowData final : public ClientData {
 public:
  explicit SlowData(std::unique_ptr<ClientData> data) : data_(std::move(data)) {}
  [[nodiscard]] SampleShape shape() const override { return data_->shape(); }
  [[nodiscard]] int classes() const override { return data_->classes(); }
  [[nodiscard]] bool multi_label() const override { return data_->multi_label(); }
  [[nodiscard]] ClientShard shard(Round round) override {
    if (!std::exchange(slept_, true)) {
      feroma::test::fast_clock().rest_for(12, {});  // while nobody hears it, time must pass
    }
    return data_->shard(round);
  }
  [[nodiscard]] View train_of_window(int window) override { return data_->train_of_window(window); }

 private:
  std::unique_ptr<ClientData> data_;
  bool slept_ = false;
};

// Silence for ten seconds is death, and a beat is due ten times in it.
TEST_F(FlowerOverGrpc, WhoTrainsForLongIsNotGivenUp) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.clients=2", "scenario.rounds=3"});
  FederationPlan todo = plan(what);
  todo.server.heartbeat_seconds = 1;
  todo.server.dead_seconds = 10;
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {"127.0.0.1:0"});
  const std::jthread sweep = sweeper(coordinator);
  std::vector<std::jthread> clients;
  for (std::uint32_t id = 0; id < 2; ++id) {
    clients.emplace_back([this, client = client_plan(what, id, server.port())] {
      SlowData data(scenario_client_data(federation, static_cast<ClientId>(client.id)));
      run_flower_client(client, data, stop);
    });
  }
  coordinator.run();
  clients.clear();
  EXPECT_EQ(coordinator.hub().traffic().verdicts[v1::TOO_SLOW], 0U);
}

// A server that is started again: its clients were told when to come back, and do.
TEST_F(FlowerOverGrpc, ClientsComeBackAfterARestart) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.clients=3"});
  const auto expected = simulated(what);
  const FederationPlan todo = plan(what);
  std::vector<std::jthread> clients;
  int port = 0;
  {
    Stop halt;
    FederationPlan first = todo;
    first.round_finished = [&](const RoundRecord& round, int) {
      if (round.round == 2) {
        halt.request();
      }
    };
    Coordinator coordinator(first, halt);
    const FlowerServer server(coordinator.hub(), first, {"127.0.0.1:0", {}, /*restart_seconds=*/1});
    port = server.port();
    for (std::uint32_t id = 0; id < 3; ++id) {
      clients.emplace_back([this, client = client_plan(what, id, port)] { work(client); });
    }
    static_cast<void>(error_of(ErrorCode::interrupted, [&] { coordinator.run(); }));
    coordinator.hub().dismiss({v1::SHUTTING_DOWN, "", 1});
  }
  Coordinator coordinator(todo, stop);
  const FlowerServer server(coordinator.hub(), todo, {fmt::format("127.0.0.1:{}", port)});
  coordinator.run();
  clients.clear();
  EXPECT_TRUE(models_in(todo.state / "results") == expected);
}

}  // namespace
}  // namespace feroma::net::test
