// Clients that are away, come late, lose what they had, or wait for a server that says nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "feroma/core/files.h"
#include "feroma/runtime/input_survey.h"
#include "feroma/runtime/store_models.h"
#include "feroma/store/index.h"
#include "tests/core/expect_error.h"
#include "tests/net/federation_fixture.h"
#include "tests/net/log_lines.h"

namespace feroma::net::test {
namespace {

class Absence : public FederationTest {
 protected:
  /// Clients that live as long as they are wanted.
  void begin(Hub& hub, std::uint32_t first, std::uint32_t end) {
    for (std::uint32_t id = first; id < end; ++id) {
      clients.emplace_back([this, id, &hub] { live(id, [&] { return std::make_unique<Pipe>(hub); }); });
    }
  }
  /// Rounds that a client finished, as the server's clients.csv has them.
  static int rounds_of(const std::filesystem::path& state, int client) {
    int rounds = 0;
    std::istringstream lines(read_text(state / "clients.csv"));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t after_round = line.find(',', line.find(',') + 1);
      rounds += line.substr(after_round).starts_with(fmt::format(",{},", client)) ? 1 : 0;
    }
    return rounds;
  }

  std::vector<std::jthread> clients;
};

// After round 3, the first with profiles, client 5 comes back with an empty folder. It needs the encoder once more.
TEST_F(Absence, WhoLostItsStateTakesPartAgain) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 2");
  FederationPlan todo = plan(what);
  std::atomic<bool> lost = false;
  std::atomic<bool> come_back = false;
  todo.round_finished = [&](const RoundRecord& round, int) { lost = lost || round.round == 3; };
  Coordinator coordinator(todo, stop);
  begin(coordinator.hub(), 0, 5);
  clients.emplace_back([&] {
    AgentOptions options;
    options.id = 5;
    options.state = folder / "before";
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{5});
    {
      Pipe pipe(coordinator.hub());
      std::jthread axe([&] {
        while (!lost) {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        pipe.cancel();
      });
      static_cast<void>(Agent(options, *data, stop).serve(pipe));
    }
    come_back = true;
    live(
        5, [&] { return std::make_unique<Pipe>(coordinator.hub()); }, "after");
  });
  coordinator.run();
  clients.clear();
  EXPECT_TRUE(come_back);
  EXPECT_GE(rounds_of(todo.state, 5), 4) << "of five; it may have missed the one in which it was away";
}

// The scale of the inputs is that of who was there before the first round, and is not made anew for who comes later.
TEST_F(Absence, WhoComesLateUsesTheScaleThatIsThere) {
  const Experiment what = experiment("name = 'fedavg'", {"training.standardise=true"});
  FederationPlan todo = plan(what);
  todo.server.min_clients = 5;
  std::atomic<bool> begun = false;
  Hub* hub = nullptr;
  todo.round_finished = [&](const RoundRecord& round, int) {
    begun = true;
    while (round.round == 2 && !hub->is_present(ClientId{5})) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  };
  Coordinator coordinator(todo, stop);
  hub = &coordinator.hub();
  begin(*hub, 0, 5);
  clients.emplace_back([&] {
    while (!begun) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    live(5, [&] { return std::make_unique<Pipe>(*hub); });
  });
  coordinator.run();
  clients.clear();
  const std::vector<ClientId> first{ClientId{0}, ClientId{1}, ClientId{2}, ClientId{3}, ClientId{4}};
  EXPECT_EQ(open_store(todo.state, "").scales, survey_inputs(*federation, first));
  EXPECT_GE(rounds_of(todo.state, 5), 1);
}

// Sums are exact: a client tells them to a federation that scales its inputs, and to no other.
TEST_F(Absence, NobodyTellsSumsThatTheFederationHasNoUseFor) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  Coordinator coordinator(todo, stop);
  Ending ending;
  clients.emplace_back([&] {
    AgentOptions options;
    options.id = 0;
    options.state = folder / "client";
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{0});
    Pipe pipe(coordinator.hub());
    ending = Agent(options, *data, stop).serve(pipe);
    stop.request();
  });
  const std::vector<ClientId> there = coordinator.hub().await(1);
  feroma::test::error_of(ErrorCode::interrupted,
                         [&] { static_cast<void>(survey_inputs(coordinator.hub(), there, todo.input)); });
  clients.clear();
  EXPECT_TRUE(feroma::test::holds(ending.text, "the server asked for phase 0 of round 0"));
}

// Everybody but one is told at the end; the last one comes later, also to a server that was started again.
TEST_F(Absence, WhoComesAfterTheEndIsToldSo) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.rounds=2", "scenario.drifts=2"});
  FederationPlan todo = plan(what);
  todo.server.min_clients = 5;
  todo.server.linger_seconds = 0;
  {
    Coordinator coordinator(todo, stop);
    begin(coordinator.hub(), 0, 5);
    coordinator.run();
    begin(coordinator.hub(), 5, 6);
    clients.clear();  // each ends because it was told
  }
  Coordinator again(todo, stop);
  again.run();
  begin(again.hub(), 0, 6);
  clients.clear();
}

TEST_F(Absence, AServerWaitsForThoseWhoHaveToBeTold) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.rounds=2", "scenario.drifts=2"});
  FederationPlan todo = plan(what);
  todo.server.min_clients = 5;
  todo.server.linger_seconds = 1000;  // fifty seconds
  std::atomic<bool> told = false;
  Hub* hub = nullptr;
  todo.round_finished = [&](const RoundRecord& round, int rounds) {
    if (round.round == rounds) {
      clients.emplace_back([&] {
        live(
            0, [&] { return std::make_unique<Pipe>(*hub); }, "late");
        told = true;
      });
    }
  };
  Coordinator coordinator(todo, stop);
  hub = &coordinator.hub();
  {
    // Client 0 comes once and goes: it is known from then on.
    Pipe pipe(coordinator.hub());
    v1::ClientFrame hello;
    hello.set_counter(1);
    hello.mutable_hello()->set_protocol(kProtocol);
    static_cast<void>(pipe.send(hello));
  }
  begin(coordinator.hub(), 1, 6);
  const auto start = Clock::machine().now();
  coordinator.run();
  EXPECT_LT(Clock::machine().now() - start, std::chrono::seconds(45)) << "nobody is waited for in vain";
  clients.clear();
  EXPECT_TRUE(told);
}

/// A server that takes everything and says nothing, or nothing more.
class SilentLink final : public ServerLink {
 public:
  explicit SilentLink(std::optional<v1::ServerFrame> first = {}) : first_(std::move(first)) {}
  bool send(const v1::ClientFrame&) override { return !ended_; }
  bool receive(v1::ServerFrame& frame) override {
    if (first_) {
      frame = *std::exchange(first_, std::nullopt);
      return true;
    }
    while (!ended_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }
  void cancel() override { ended_ = true; }

 private:
  std::optional<v1::ServerFrame> first_;
  std::atomic<bool> ended_ = false;
};

TEST_F(Absence, ASilentServerIsGivenUp) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{0});
  AgentOptions options;
  options.state = folder / "client";
  options.patience_seconds = 0.1;
  Agent agent(options, *data, stop);
  SilentLink mute;
  EXPECT_GT(agent.serve(mute).retry_seconds, 0) << "before the welcome";
  // The welcome of a real server, which then falls silent.
  Coordinator coordinator(todo, stop);
  Pipe pipe(coordinator.hub());
  v1::ClientFrame hello;
  hello.set_counter(1);
  hello.mutable_hello()->set_protocol(kProtocol);
  ASSERT_TRUE(pipe.send(hello));
  v1::ServerFrame welcome;
  ASSERT_TRUE(pipe.receive(welcome));
  welcome.mutable_welcome()->set_heartbeat_seconds(0.02);
  SilentLink falls_silent(welcome);
  EXPECT_GT(agent.serve(falls_silent).retry_seconds, 0) << "after it";
}

TEST_F(Absence, WhoWaitsGivesASignOfLifeNowAndThen) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  Coordinator coordinator(todo, stop);
  const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{0});
  AgentOptions options;
  options.state = folder / "client";
  options.sign_seconds = 0.05;
  int signs = 0;
  options.note = [&](const std::string& text, std::initializer_list<log::Field>) {
    if (text == "waiting for round 1 to begin" && ++signs == 3) {
      stop.request();
    }
  };
  const auto start = Clock::machine().now();
  Pipe pipe(coordinator.hub());
  EXPECT_GT(Agent(options, *data, stop).serve(pipe).retry_seconds, 0);
  EXPECT_GE(signs, 3);
  EXPECT_LE(signs, (Clock::machine().now() - start) / std::chrono::milliseconds(50)) << "not more often";
}

// The server would take the second for the first come again, and send the first away.
TEST_F(Absence, ASecondClientOnTheSameFolderDoesNotDisturbTheFirst) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  Coordinator coordinator(todo, stop);
  begin(coordinator.hub(), 0, 1);
  static_cast<void>(coordinator.hub().await(1));
  const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{0});
  AgentOptions options;
  options.state = folder / "client-0";
  const std::string error = feroma::test::error_of(ErrorCode::invalid_config, [&] {
    Pipe pipe(coordinator.hub());
    static_cast<void>(Agent(options, *data, stop).serve(pipe));
  });
  EXPECT_TRUE(feroma::test::holds(error, "another client is running with this state folder"));
  EXPECT_EQ(coordinator.hub().traffic().verdicts[v1::TWICE], 0U);
  EXPECT_TRUE(coordinator.hub().is_present(ClientId{0}));
  stop.request();
  clients.clear();
}

// A server that dies between its last round and the results has only what was finished to write them from.
TEST_F(Absence, ResultsAreTheSameWhereARestartWritesThem) {
  const Experiment what = experiment("name = 'feroma'\nwarmup_rounds = 1", {"scenario.rounds=2", "scenario.drifts=2"});
  FederationPlan todo = plan(what);
  todo.server.linger_seconds = 0;
  const auto stored = [&] {
    return StoreIndex(todo.state / "results" / "store.db", StoreIndex::Mode::read_only).list({});
  };
  {
    Coordinator coordinator(todo, stop);
    begin(coordinator.hub(), 0, 6);
    coordinator.run();
    clients.clear();
  }
  const std::vector<StoreEntry> before = stored();
  EXPECT_EQ(
      std::count_if(before.begin(), before.end(), [](const auto& entry) { return entry.validation_score.has_value(); }),
      6)
      << "one model of each client's";
  std::filesystem::remove_all(todo.state / "results");
  Coordinator again(todo, stop);
  again.run();
  EXPECT_TRUE(stored() == before);
}

// It is there and silent. Whoever draws the same clients again and again waits for it for ever.
TEST_F(Absence, WhoIsDrawnAndNeverAnswersDoesNotHoldTheRoundUp) {
  const Experiment what =
      experiment("name = 'fedavg'", {"scenario.clients=4", "scenario.participation=0.5", "scenario.rounds=2",
                                     "scenario.drifts=2", "scenario.samples_per_client=100"});
  FederationPlan todo = plan(what);
  todo.server.round_seconds = 10;  // half a second
  todo.server.heartbeat_seconds = 1;
  todo.server.linger_seconds = 0;  // nobody tells the silent one
  const std::vector<ClientId> all{ClientId{0}, ClientId{1}, ClientId{2}, ClientId{3}};
  const ClientId mute = draw_participants(all, 0.5, Rng(static_cast<std::uint64_t>(what.scenario.seed)), 1).front();
  Coordinator coordinator(todo, stop);
  Pipe silent(coordinator.hub());
  v1::ClientFrame hello;
  hello.set_counter(1);
  hello.mutable_hello()->set_protocol(kProtocol);
  hello.mutable_hello()->set_id(to_index(mute));
  ASSERT_TRUE(silent.send(hello));
  for (const ClientId client : all) {
    if (client != mute) {
      begin(coordinator.hub(), to_index(client), to_index(client) + 1);
    }
  }
  coordinator.run();
  EXPECT_EQ(coordinator.status().rounds_finished, 2);
  silent.cancel();
  clients.clear();
}

// Both are there and say nothing: the round begins again and again, and somebody should be told.
TEST_F(Absence, ARoundThatBeginsAgainForEverIsUnhealthy) {
  FederationPlan todo = plan(experiment("name = 'fedavg'", {"scenario.clients=2"}));
  todo.server.round_seconds = 1;  // a twentieth of a second; four of these is what a round may take
  todo.server.heartbeat_seconds = 0.2;
  todo.server.rejoin_seconds = 0.2;
  Coordinator coordinator(todo, stop);
  std::vector<std::unique_ptr<Pipe>> silent;
  for (std::uint32_t id = 0; id < 2; ++id) {
    v1::ClientFrame hello;
    hello.set_counter(1);
    hello.mutable_hello()->set_protocol(kProtocol);
    hello.mutable_hello()->set_id(id);
    silent.push_back(std::make_unique<Pipe>(coordinator.hub()));
    ASSERT_TRUE(silent.back()->send(hello));
  }
  EXPECT_TRUE(coordinator.status().healthy);
  std::jthread rounds(
      [&] { static_cast<void>(feroma::test::error_of(ErrorCode::interrupted, [&] { coordinator.run(); })); });
  ServerStatus status = coordinator.status();
  for (int i = 0; i < 2000 && status.healthy; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = coordinator.status();
  }
  EXPECT_FALSE(status.healthy);
  EXPECT_TRUE(feroma::test::holds(status.reason, "round 1 has not been finished for")) << status.reason;
  EXPECT_TRUE(feroma::test::holds(status.reason, "and was begun again")) << status.reason;
  // Waiting for clients is no fault, but does not heal it either.
  Lines lines;
  silent.clear();
  EXPECT_TRUE(lines.await("round 1: waiting for 2 clients"));
  EXPECT_FALSE(coordinator.status().healthy);
  stop.request();
}

/// Data that cannot be read in one round, as while somebody writes the files; or not the first times.
class BeingWritten final : public ClientData {
 public:
  BeingWritten(std::unique_ptr<ClientData> data, Round when, int times = std::numeric_limits<int>::max())
      : data_(std::move(data)), when_(when), times_(times) {}
  [[nodiscard]] SampleShape shape() const override { return data_->shape(); }
  [[nodiscard]] int classes() const override { return data_->classes(); }
  [[nodiscard]] bool multi_label() const override { return data_->multi_label(); }
  [[nodiscard]] ClientShard shard(Round round) override {
    require(round != when_ || times_-- <= 0, ErrorCode::invalid_data, "visits.csv:3: must have 4 fields, got 2");
    return data_->shard(round);
  }
  [[nodiscard]] View train_of_window(int window) override { return data_->train_of_window(window); }

 private:
  std::unique_ptr<ClientData> data_;
  Round when_;
  int times_;
};

// Too few answer, so that the round begins again and asks the same. Who failed must look at its data again.
TEST_F(Absence, ARoundThatFailedForItsDataIsFinishedOnceTheyAreGood) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.clients=3", "scenario.rounds=3", "scenario.drifts=3",
                                                         "scenario.samples_per_client=100"});
  FederationPlan todo = plan(what);
  todo.server.heartbeat_seconds = 1;
  Coordinator coordinator(todo, stop);
  std::jthread axe([this](const std::stop_token& end) {
    if (Clock::machine().rest_for(60, end)) {
      stop.request();
    }
  });
  for (std::uint32_t id = 0; id < 3; ++id) {
    clients.emplace_back([&, id] {
      BeingWritten data(scenario_client_data(federation, static_cast<ClientId>(id)), 2, id == 0 ? 0 : 2);
      AgentOptions options;
      options.state = folder / fmt::format("client-{}", id);
      options.id = id;
      Pipe pipe(coordinator.hub());
      EXPECT_EQ(Agent(options, data, stop).serve(pipe).reason, v1::FINISHED);
    });
  }
  EXPECT_NO_THROW(coordinator.run()) << "it was repeated for a minute";
  axe.request_stop();
  clients.clear();
  EXPECT_EQ(coordinator.status().rounds_finished, 3);
  EXPECT_EQ(rounds_of(todo.state, 1), 3);
}

/// Data that are asked for just when the client is told to stop.
class Interrupted final : public ClientData {
 public:
  Interrupted(std::unique_ptr<ClientData> data, Round when, std::function<void()> stop)
      : data_(std::move(data)), when_(when), stop_(std::move(stop)) {}
  [[nodiscard]] SampleShape shape() const override { return data_->shape(); }
  [[nodiscard]] int classes() const override { return data_->classes(); }
  [[nodiscard]] bool multi_label() const override { return data_->multi_label(); }
  [[nodiscard]] ClientShard shard(Round round) override {
    if (round == when_) {
      stop_();
    }
    return data_->shard(round);
  }
  [[nodiscard]] View train_of_window(int window) override { return data_->train_of_window(window); }

 private:
  std::unique_ptr<ClientData> data_;
  Round when_;
  std::function<void()> stop_;
};

// One of three is stopped in the middle of a round. The others are done long before the deadline, and so is the round.
TEST_F(Absence, WhoIsStoppedSaysGoodbyeAndIsNotWaitedFor) {
  const Experiment what = experiment("name = 'fedavg'", {"scenario.clients=3", "scenario.rounds=3", "scenario.drifts=3",
                                                         "scenario.samples_per_client=100"});
  FederationPlan todo = plan(what);
  todo.server.min_clients = 2;
  todo.server.linger_seconds = 0;
  std::vector<DroppedRecord> dropped;
  todo.round_finished = [&](const RoundRecord& round, int) {
    dropped.insert(dropped.end(), round.dropped.begin(), round.dropped.end());
  };
  Coordinator coordinator(todo, stop);
  Stop own_stop;
  begin(coordinator.hub(), 0, 2);
  clients.emplace_back([&] {
    Interrupted data(scenario_client_data(federation, ClientId{2}), 2, [&] {
      own_stop.request();
      // It trains on while the connection ends.
      for (int i = 0; i < 5000 && coordinator.hub().is_present(ClientId{2}); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
    AgentOptions options;
    options.state = folder / "client-2";
    options.id = 2;
    Pipe pipe(coordinator.hub());
    const Ending ending = Agent(options, data, own_stop).serve(pipe);
    EXPECT_NE(ending.reason, v1::FINISHED) << "the federation goes on";
    EXPECT_GT(ending.retry_seconds, 0) << "it may come again";
  });
  static_cast<void>(coordinator.hub().await(3));
  const auto start = Clock::machine().now();
  coordinator.run();
  EXPECT_LT(Clock::machine().now() - start, std::chrono::seconds(60)) << "half of what a round may take";
  clients.clear();
  ASSERT_EQ(dropped.size(), 1U);
  EXPECT_EQ(dropped.front().client, 2U);
  EXPECT_EQ(dropped.front().reason, "it said goodbye");
}

TEST_F(Absence, WhoseDataCannotBeReadMissesThatRoundAlone) {
  const Experiment what = experiment("name = 'fedavg'");
  FederationPlan todo = plan(what);
  std::vector<DroppedRecord> dropped;
  todo.round_finished = [&](const RoundRecord& round, int) {
    dropped.insert(dropped.end(), round.dropped.begin(), round.dropped.end());
  };
  Coordinator coordinator(todo, stop);
  begin(coordinator.hub(), 0, 5);
  clients.emplace_back([&] {
    BeingWritten data(scenario_client_data(federation, ClientId{5}), 3);
    AgentOptions options;
    options.state = folder / "client-5";
    options.id = 5;
    Pipe pipe(coordinator.hub());
    EXPECT_EQ(Agent(options, data, stop).serve(pipe).reason, v1::FINISHED);
  });
  coordinator.run();
  clients.clear();
  ASSERT_EQ(dropped.size(), 1U);
  EXPECT_EQ(dropped.front().client, 5U);
  EXPECT_TRUE(feroma::test::holds(dropped.front().reason, "visits.csv:3"));
  EXPECT_EQ(rounds_of(todo.state, 5), 4) << "of five";
}

TEST_F(Absence, ACertificateOfAnotherClientIsNoticed) {
  const FederationPlan todo = plan(experiment("name = 'fedavg'"));
  Coordinator coordinator(todo, stop);
  AgentOptions options;
  options.state = folder / "client";
  options.id = 3;
  const std::unique_ptr<ClientData> data = scenario_client_data(federation, ClientId{3});
  Pipe pipe(coordinator.hub(), {"pipe", ClientId{1}, "site-1"});
  const Ending ending = Agent(options, *data, stop).serve(pipe);
  EXPECT_EQ(ending.retry_seconds, 0);
  EXPECT_EQ(ending.text, "the certificate is that of client 1, the data are those of client 3");
}

}  // namespace
}  // namespace feroma::net::test
