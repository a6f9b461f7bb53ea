#include "feroma/algorithms/fedopt.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/algorithms/one_client.h"

namespace feroma {
namespace {

using test::OneClient;
using test::ToyRun;

/// The first parameter's path when clients always end `change` away from what they were given.
std::vector<double> path_of(std::unique_ptr<Algorithm> algorithm, const std::vector<double>& changes) {
  OneClient server(std::move(algorithm));
  std::vector<double> path;
  StageSeconds seconds;
  for (const double change : changes) {
    Parameters moved = server.algorithm->served()[0].model->clone();
    const auto before = static_cast<double>(moved.values()[0]);
    for (float& value : moved.values()) {
      value += static_cast<float>(change);
    }
    std::map<ClientId, Message> answers{
        {ClientId{0}, {{{"model", share(std::move(moved))}, {"num_examples", Ints{7}}}}}};
    server.algorithm->uplink(1, 0, answers, seconds);
    path.push_back(static_cast<double>(test::served_bits(*server.algorithm)[0]) - before);
  }
  return path;
}

TEST(FedOpt, FedAvgMWithoutMomentumIsFedAvg) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop fedavgm = run.loop("name = 'fedavgm'\nbeta = 0.0");
  test::play_all(fedavg);
  test::play_all(fedavgm);
  const auto expected = test::served_bits(fedavg.algorithm());
  const auto served = test::served_bits(fedavgm.algorithm());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(served[i], expected[i], 1e-5);
  }
}

TEST(FedOpt, FedAvgMRemembersItsSteps) {
  const auto path = path_of(make_fedavgm({}), {0.1, 0.1, 0.0});
  EXPECT_NEAR(path[0], 0.1, 1e-6);
  EXPECT_NEAR(path[1], 0.17, 1e-6);   // 0.7 * 0.1 + 0.1
  EXPECT_NEAR(path[2], 0.119, 1e-6);  // 0.7 * 0.17
}

TEST(FedOpt, FedAdamDividesByTheRootOfTheMeanSquare) {
  // m = 0.1 * 0.5 = 0.05; v = 0.99 * 1e-6 + 0.01 * 0.25; step = 0.01 * m / (sqrt(v) + 0.001), then once more.
  const auto path = path_of(make_fedadam({}), {0.5, -0.2});
  const double v1 = 0.99 * 1e-6 + 0.01 * 0.25;
  EXPECT_NEAR(path[0], 0.01 * 0.05 / (std::sqrt(v1) + 0.001), 1e-6);
  const double m2 = 0.9 * 0.05 - 0.1 * 0.2;
  const double v2 = 0.99 * v1 + 0.01 * 0.04;
  EXPECT_NEAR(path[1], 0.01 * m2 / (std::sqrt(v2) + 0.001), 1e-6);
}

TEST(FedOpt, FedYogiMovesItsMeanSquareByASignedStep) {
  // v starts at 1e-6, below 0.25, so it grows by 0.01 * 0.25; then it is above 0 and stays.
  const auto path = path_of(make_fedyogi({}), {0.5, 0.01});
  const double v1 = 1e-6 + 0.01 * 0.25;
  EXPECT_NEAR(path[0], 0.01 * 0.05 / (std::sqrt(v1) + 0.001), 1e-6);
  const double m2 = 0.9 * 0.05 + 0.1 * 0.01;
  const double v2 = v1 - 0.01 * 0.0001;
  EXPECT_NEAR(path[1], 0.01 * m2 / (std::sqrt(v2) + 0.001), 1e-6);
  // Adam forgets a large square faster than Yogi when changes become small.
  const std::vector<double> fading{0.5, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_GT(path_of(make_fedadam({}), fading).back(), path_of(make_fedyogi({}), fading).back());
}

/// Clients of 30 and 10 examples whose models moved by 1 and 5: the mean change is 3, or 2 by examples.
TEST(FedOpt, ChangesWeighAsThePaperOfEachSays) {
  const auto change = [](std::unique_ptr<Algorithm> algorithm) {
    OneClient server(std::move(algorithm));
    const float before = test::served_bits(*server.algorithm)[0];
    std::map<ClientId, Message> answers;
    for (const auto& [client, away, examples] : {std::tuple{0U, 1.0F, 30}, std::tuple{1U, 5.0F, 10}}) {
      Parameters moved = server.algorithm->served()[0].model->clone();
      moved.values()[0] += away;
      answers[static_cast<ClientId>(client)] = {{{"model", share(std::move(moved))}, {"num_examples", Ints{examples}}}};
    }
    test::deliver(*server.algorithm, 1, 0, answers);
    return test::served_bits(*server.algorithm)[0] - before;
  };
  // Without memory and with a large tau an adaptive step is the change divided by tau + its size.
  const AdaptiveServerOptions plain{.server_rate = 1, .beta1 = 0, .beta2 = 0, .tau = 1000};
  AdaptiveServerOptions weighted = plain;
  weighted.averaging = Averaging::examples;
  EXPECT_NEAR(change(make_fedadam(plain)), 3.0 / 1003, 1e-6);
  EXPECT_NEAR(change(make_fedadam(weighted)), 2.0 / 1002, 1e-6);
  EXPECT_NEAR(change(make_fedavgm({})), 2, 1e-5);
  EXPECT_NEAR(change(make_fedavgm({.averaging = Averaging::uniform})), 3, 1e-5);
}

TEST(FedOpt, EveryOptionChangesSomething) {
  ToyRun run;
  const auto bits = [&](const std::string& algorithm) {
    RoundLoop loop = run.loop(algorithm);
    static_cast<void>(loop.play_round());
    static_cast<void>(loop.play_round());
    return test::served_bits(loop.algorithm());
  };
  for (const std::string name : {"name = 'fedadam'\n", "name = 'fedyogi'\n"}) {
    for (const char* change :
         {"server_rate = 0.1", "beta1 = 0.5", "beta2 = 0.5", "tau = 0.1", "momentum_reset = 'epoch'"}) {
      EXPECT_NE(bits(name + change), bits(name)) << name << change;
    }
  }
  EXPECT_NE(bits("name = 'fedadam'"), bits("name = 'fedyogi'"));
  for (const char* change : {"server_rate = 0.5", "beta = 0.1", "momentum_reset = 'epoch'"}) {
    EXPECT_NE(bits(std::string("name = 'fedavgm'\n") + change), bits("name = 'fedavgm'")) << change;
  }
}

TEST(FedOpt, CostsWhatFedAvgCosts) {
  for (const char* name : {"fedadam", "fedyogi", "fedavgm"}) {
    ToyRun run;
    RoundLoop loop = run.loop(std::string("name = '") + name + "'");
    const RoundRecord record = loop.play_round();
    const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
    EXPECT_EQ(record.bytes_down, 6 * model_bytes);
    EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));
    EXPECT_EQ(loop.totals().passes.backward, 2 * loop.totals().samples_held);
  }
}

TEST(FedOpt, AnEmptyRoundChangesNothing) {
  OneClient server(make_fedadam({}));
  const auto before = test::served_bits(*server.algorithm);
  std::map<ClientId, Message> nobody;
  StageSeconds seconds;
  server.algorithm->uplink(1, 0, nobody, seconds);
  EXPECT_EQ(test::served_bits(*server.algorithm), before);
}

}  // namespace
}  // namespace feroma
