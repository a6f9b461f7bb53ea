// A server and its clients in one process, without a network between them.
#include <algorithm>
#include <sstream>

#include "feroma/core/files.h"
#include "feroma/runtime/store_models.h"
#include "tests/net/federation_fixture.h"

namespace feroma::net::test {
namespace {

class Federated : public FederationTest {
 protected:
  /// A whole federation over pipes.
  std::map<std::string, Bytes> federated(const FederationPlan& plan) {
    Coordinator coordinator(plan, stop);
    std::vector<std::jthread> clients;
    for (int id = 0; id < plan.experiment.scenario.clients; ++id) {
      clients.emplace_back([this, id, &coordinator] {
        steps += live(static_cast<std::uint32_t>(id), [&] { return std::make_unique<Pipe>(coordinator.hub()); });
      });
    }
    coordinator.run();
    clients.clear();
    return models_in(plan.state / "results");
  }

  void expect_the_simulators_bits(std::string_view name, const std::vector<std::string>& overrides = {}) {
    const bool warms_up = name == "feroma" || name == "fedavg-ft";
    const Experiment what =
        experiment(fmt::format("name = '{}'\n{}", name, warms_up ? "warmup_rounds = 2" : ""), overrides);
    const auto expected = simulated(what);
    const auto expected_reports = reports_in(folder / "simulated");
    std::filesystem::remove_all(folder / "server");
    for (int id = 0; id < what.scenario.clients; ++id) {
      std::filesystem::remove_all(folder / fmt::format("client-{}", id));
    }
    EXPECT_TRUE(federated(plan(what)) == expected) << name;
    // Their models are the clients' own: what these did with them is all that the server has.
    const bool keeps_models = name == "local" || name == "fedproto";
    EXPECT_EQ(expected.empty(), keeps_models) << name;
    if (keeps_models) {
      EXPECT_EQ(expected_reports.size(), static_cast<std::size_t>(what.scenario.clients * what.scenario.rounds));
      EXPECT_EQ(reports_in(folder / "server"), expected_reports) << name;
    }
  }

  /// What clients reported, a row for each in each round: all but the true distribution, which no server knows. A loss
  /// travels as a mean, and is the same up to the last bits.
  static std::vector<std::vector<std::string>> reports_in(const std::filesystem::path& run) {
    constexpr std::size_t kDistribution = 3;
    constexpr std::size_t kLoss = 4;  // once that is gone
    std::vector<std::vector<std::string>> rows;
    std::istringstream table(read_text(run / "clients.csv"));
    std::string line;
    std::getline(table, line);  // names of columns
    while (std::getline(table, line)) {
      std::vector<std::string>& row = rows.emplace_back();
      std::istringstream cells(line);
      for (std::string cell; std::getline(cells, cell, ',');) {
        row.push_back(cell);
      }
      row.erase(row.begin() + kDistribution);
      row.at(kLoss) = fmt::format("{:.9g}", std::stod(row.at(kLoss)));
    }
    return rows;
  }

  std::atomic<int> steps = 0;
};

TEST_F(Federated, GivesTheBitsOfTheSimulator) {
  expect_the_simulators_bits("feroma");
  expect_the_simulators_bits("scaffold");  // whose clients remember
}

// The server makes the scale of the clients' sums, and the simulator of the same ones.
TEST_F(Federated, ScaledInputsGiveTheBitsOfTheSimulator) {
  expect_the_simulators_bits("feroma", {"training.standardise=true"});
  const InputScales scales = open_store(folder / "server", "").scales;
  ASSERT_EQ(scales.size(), 3U);
  EXPECT_EQ(scales, open_store(folder / "simulated", "").scales);
  EXPECT_NE(scales[0], scales[1]) << "tints are not alike in all channels";
}

// Between the tasks of a round they keep the models that they have scored, or their encoder, and train those.
TEST_F(Federated, ClientsThatKeepModelsGiveTheBitsOfTheSimulator) {
  expect_the_simulators_bits("feddrift");
  expect_the_simulators_bits("shiftex");
}

// Who is asked in a round is drawn as the simulator draws, from the same seed.
TEST_F(Federated, AShareOfTheClientsGivesTheBitsOfTheSimulator) {
  expect_the_simulators_bits("feroma", {"scenario.participation=0.5"});
  const std::string table = read_text(folder / "server" / "clients.csv");
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 1 + 5 * 3) << "three of six clients in each round";
  expect_the_simulators_bits("scaffold", {"scenario.participation=0.5"});
}

// More models than most methods have in an answer.
TEST_F(Federated, ManyComponentsGiveTheBitsOfTheSimulator) {
  expect_the_simulators_bits("fedem", {"algorithm.0.components=20", "scenario.clients=2", "scenario.rounds=1",
                                       "scenario.drifts=1", "scenario.samples_per_client=60"});
}

TEST_F(Federated, WhatClientsDoWithModelsOfTheirOwnIsTheSimulators) { expect_the_simulators_bits("local"); }

class FederatedSlow : public Federated {};

// Every method whose clients depend on what they are sent alone; a pool of everybody's data is no federation.
TEST_F(FederatedSlow, EveryAlgorithmGivesTheBitsOfTheSimulator) {
  for (const AlgorithmEntry& entry : known_algorithms()) {
    if (entry.name != "centralised") {
      expect_the_simulators_bits(entry.name);
    }
  }
}

}  // namespace
}  // namespace feroma::net::test
