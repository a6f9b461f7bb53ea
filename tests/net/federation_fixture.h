#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>

#include "feroma/data/catalog.h"
#include "feroma/partition/shared_datasets.h"
#include "feroma/runtime/run.h"
#include "net/coordinator.h"
#include "tests/clocks.h"
#include "tests/core/temp_folder.h"
#include "tests/net/pipe.h"

namespace feroma::net::test {

/// A small drifting scenario, played by the simulator or by a server and clients in this process.
class FederationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (locate_dataset(find_dataset("fmnist"), {}).empty()) {
      GTEST_SKIP() << "Fashion-MNIST is missing (Debian: dataset-fashion-mnist): federations are NOT tested";
    }
  }

  static Experiment experiment(const std::string& algorithm, const std::vector<std::string>& overrides = {}) {
    Settings settings = parse_settings(R"(
[scenario]
dataset = "fmnist"
shift = "covariate"
clients = 6
rounds = 5
drifts = 3
samples_per_client = 300
scale_rule = "none"
[training]
model = "lenet5"
local_epochs = 1
batch_size = 16
[[algorithm]]
)" + algorithm,
                                       "test");
    for (const std::string& override : overrides) {
      apply_override(settings, override);
    }
    return read_experiment(settings);
  }

  /// What all of these tests read, they read once.
  static SharedDatasets& datasets() {
    static SharedDatasets all;
    return all;
  }
  static std::shared_ptr<const Federation> read_once(const Experiment& what) {
    return make_federation(what, &datasets());
  }

  FederationPlan plan(const Experiment& what, const std::string& state = "server") {
    FederationPlan plan;
    plan.experiment = what;
    federation = read_once(what);
    plan.input = federation->shape();
    plan.classes = federation->classes();
    plan.multi_label = federation->multi_label();
    plan.server.min_clients = what.scenario.clients;
    plan.server.quorum = 1;
    plan.server.clock = &feroma::test::fast_clock();
    plan.server.round_seconds = 2400;  // two minutes by that clock: a slow machine must not change the bits
    plan.state = folder / state;
    return plan;
  }

  /// Connects one client until the server is done with it or `stop`; every lost connection is followed by another.
  /// `connect` makes the connections; by default they are pipes.
  using Connect = std::function<std::unique_ptr<ServerLink>()>;
  int live(std::uint32_t id, const Connect& connect, std::string state = {}) {
    AgentOptions options;
    options.state = folder / (state.empty() ? "client-" + std::to_string(id) : state);
    options.id = id;
    options.clock = &feroma::test::fast_clock();
    options.patience_seconds = 200;  // ten seconds
    const std::unique_ptr<ClientData> data = scenario_client_data(federation, static_cast<ClientId>(id));
    Agent agent(options, *data, stop);
    while (!stop.requested()) {
      const std::unique_ptr<ServerLink> link = connect();
      if (link == nullptr) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        continue;
      }
      const Ending ending = agent.serve(*link);
      if (ending.reason == v1::FINISHED) {
        break;
      }
      EXPECT_GT(ending.retry_seconds, 0) << "client " << id << " was refused for good: " << ending.text;
    }
    return agent.steps();
  }

  /// Every model file of a finished run or federation, by name.
  static std::map<std::string, Bytes> models_in(const std::filesystem::path& path) {
    std::map<std::string, Bytes> files;
    for (const auto& entry : std::filesystem::directory_iterator(path / "models")) {
      if (entry.path().extension() == ".safetensors") {
        files[entry.path().filename().string()] = read_file(entry.path());
      }
    }
    return files;
  }

  std::map<std::string, Bytes> simulated(const Experiment& what) {
    RunOptions options;
    options.out = folder / "simulated";
    options.existing = Existing::overwrite;
    options.datasets = &datasets();
    static_cast<void>(run_experiment(what, options, stop));
    return models_in(options.out);
  }

  feroma::test::TempFolder folder;
  std::shared_ptr<const Federation> federation;
  Stop stop;
};

}  // namespace feroma::net::test
