#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <thread>

#include "feroma/core/files.h"
#include "feroma/data/plain_view.h"
#include "feroma/net/client_data.h"
#include "feroma/partition/pool.h"
#include "net/coordinator.h"
#include "tests/clocks.h"
#include "tests/core/temp_folder.h"
#include "tests/net/pipe.h"

namespace feroma::faults {

using net::Agent;
using net::AgentOptions;
using net::Coordinator;
using net::Ending;
using net::Hub;
using net::ServerLink;
using net::test::Pipe;

/// A hundred times as fast as the machine's; a thread that is watched is several times slower.
inline const Clock& tiny_clock() {
#ifdef __SANITIZE_THREAD__
  static const test::ScaledClock clock(0.05);
#else
  static const test::ScaledClock clock(0.01);
#endif
  return clock;
}

/// Rows of nine numbers in three classes; odd clients have the numbers in the other order.
class TinyData final : public ClientData {
 public:
  TinyData(std::uint32_t client, int rows) : rows_(rows) {
    Rng rng = Rng(77).derive("rows", client);
    dataset_.classes = 3;
    dataset_.train.shape = shape();
    for (int row = 0; row < rows; ++row) {
      const int label = row % 3;
      std::vector<float> numbers;
      for (int i = 0; i < 9; ++i) {
        numbers.push_back(static_cast<float>((i % 3 == label ? 2.0 : 0.0) + rng.normal()));
      }
      if (client % 2 == 1) {
        std::reverse(numbers.begin(), numbers.end());
      }
      dataset_.train.values.insert(dataset_.train.values.end(), numbers.begin(), numbers.end());
      dataset_.train.labels.push_back(label);
    }
    split_ = split_rows(dataset_.train.count(), Rng(0).derive("held_out", client));
  }
  [[nodiscard]] SampleShape shape() const override { return {1, 3, 3}; }
  [[nodiscard]] int classes() const override { return 3; }
  [[nodiscard]] bool multi_label() const override { return false; }
  [[nodiscard]] ClientShard shard(Round) override {
    return {0, 0, plain_view(dataset_, split_.train), plain_view(dataset_, split_.held_out)};
  }
  [[nodiscard]] View train_of_window(int) override { return plain_view(dataset_, split_.train); }

 private:
  int rows_;
  Dataset dataset_;
  HeldOutSplit split_;
};

/// Stops one life of a server and its clients, and then perhaps the next.
class StopOfALife {
 public:
  operator const Stop&() const { return *stop_; }
  void request() { stop_->request(); }
  [[nodiscard]] bool requested() const { return stop_->requested(); }
  /// For the next life; nobody may be left of this one.
  void renew() { stop_ = std::make_unique<Stop>(); }

 private:
  std::unique_ptr<Stop> stop_ = std::make_unique<Stop>();
};

/// A federation of a server and clients in this process whose rounds take milliseconds.
class TinyFederation : public ::testing::Test {
 protected:
  FederationPlan plan(int clients, int rounds, const std::string& algorithm, const std::string& state) {
    FederationPlan plan;
    plan.experiment = read_experiment(parse_settings(
        fmt::format("[scenario]\ndataset = 'mnist'\nclients = {}\nrounds = {}\n[training]\nmodel = 'mlp'\n"
                    "local_epochs = 1\nbatch_size = 8\n[[algorithm]]\n{}",
                    clients, rounds, algorithm),
        "test"));
    plan.input = {1, 3, 3};
    plan.classes = 3;
    plan.server.min_clients = clients;
    plan.server.quorum = 1;
    plan.server.clock = &tiny_clock();
    plan.server.round_seconds = 6000;  // a minute: nobody is left out of a round
    plan.server.heartbeat_seconds = 5;
    plan.server.dead_seconds = 20;
    plan.state = folder / state;
    return plan;
  }

  /// How a client's connection number `attempt` is made; the default is a pipe.
  using Connect = std::function<std::unique_ptr<ServerLink>(Hub& hub, std::uint32_t client, int attempt)>;

  /// Plays a federation to its end and returns the last round; every client must be told the end.
  RoundRecord play(FederationPlan todo, const std::vector<std::uint32_t>& ids, const Connect& connect = {}) {
    RoundRecord last;
    const auto then = todo.round_finished;
    todo.round_finished = [&](const RoundRecord& record, int rounds) {
      last = record;
      if (then) {
        then(record, rounds);
      }
    };
    Coordinator coordinator(todo, stop);
    {
      std::vector<std::jthread> clients;
      for (const std::uint32_t id : ids) {
        clients.emplace_back([&, id] { live(coordinator.hub(), id, todo.state, connect); });
      }
      std::jthread sweeper([&](const std::stop_token& end) {
        while (tiny_clock().rest_for(2, end)) {
          coordinator.hub().sweep();
        }
      });
      coordinator.run();
    }
    return last;
  }

  /// What a client has: by default rows of numbers.
  [[nodiscard]] virtual std::unique_ptr<ClientData> data_of(std::uint32_t client) {
    return std::make_unique<TinyData>(client, rows);
  }

  /// The file that counts what is told of them.
  [[nodiscard]] virtual std::filesystem::path witness_of(std::uint32_t) { return {}; }

  void live(Hub& hub, std::uint32_t id, const std::filesystem::path& state, const Connect& connect) {
    AgentOptions options;
    options.state = state.string() + "-client-" + std::to_string(id);
    options.id = id;
    options.witness = witness_of(id);
    options.patience_seconds = 30;
    options.clock = &tiny_clock();
    const std::unique_ptr<ClientData> data = data_of(id);
    Agent agent(options, *data, stop);
    for (int attempt = 0; !stop.requested(); ++attempt) {
      const std::unique_ptr<ServerLink> link = connect ? connect(hub, id, attempt) : std::make_unique<Pipe>(hub);
      const Ending ending = agent.serve(*link);
      if (ending.reason == v1::FINISHED) {
        return;
      }
      if (ending.retry_seconds <= 0) {
        ADD_FAILURE() << "client " << id << " was refused for good: " << v1::Reason_Name(ending.reason) << ", "
                      << ending.text;
        stop.request();  // the others would wait for it
      }
    }
  }

  static std::vector<std::uint32_t> first(std::uint32_t count, std::uint32_t from = 0) {
    std::vector<std::uint32_t> ids;
    for (std::uint32_t id = from; id < count; ++id) {
      ids.push_back(id);
    }
    return ids;
  }
  /// Every model of a finished federation, by file name.
  static std::map<std::string, Bytes> models_of(const FederationPlan& plan) {
    std::map<std::string, Bytes> files;
    for (const auto& entry : std::filesystem::directory_iterator(plan.state / "results" / "models")) {
      files[entry.path().filename().string()] = read_file(entry.path());
    }
    return files;
  }
  /// Whether the last finished round's models hold numbers only.
  static bool all_finite(const FederationPlan& plan) {
    bool finite = true;
    for (const auto& entry : std::filesystem::directory_iterator(plan.state / "models")) {
      const Bytes bytes = read_file(entry.path());
      std::uint64_t count = 0;
      std::memcpy(&count, bytes.data(), sizeof(count));
      if (bytes.size() != sizeof(count) + count * sizeof(float)) {
        continue;  // the state that names the models
      }
      std::vector<float> values(count);
      std::memcpy(values.data(), bytes.data() + sizeof(count), count * sizeof(float));
      finite = finite && std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    }
    return finite;
  }

  int rows = 24;
  feroma::test::TempFolder folder;
  StopOfALife stop;
};

}  // namespace feroma::faults
