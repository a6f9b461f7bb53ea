#include "feroma/algorithms/fedavg.h"

#include <gtest/gtest.h>

#include "tests/algorithms/one_client.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

TEST(FedAvg, OneClientIsPlainSgd) {
  const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
  OneClient client(make_fedavg({}), fit);
  Parameters expected = initialise(client.run.model, Rng(42).derive("init"));
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2, 3}) {
    static_cast<void>(client.play(round));
    trainer.fit(expected, client.run.federation.shard(ClientId{0}, round).train, fit,
                Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train"));
    EXPECT_EQ(test::served_bits(*client.algorithm), bits_of(share(expected.clone()))) << "round " << round;
  }
}

TEST(FedAvg, ZeroEpochRoundIsTheIdentity) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'fedavg'");
  const auto before = test::served_bits(loop.algorithm());
  const std::unique_ptr<Algorithm> algorithm = make_fedavg({});
  ServerContext server;
  server.model = run.model;
  server.initial = share(initialise(run.model, Rng(42).derive("init")));
  server.fit.local_epochs = 0;
  algorithm->init(server);
  SimulatedPool pool(run.federation, run.workers, Rng(42), run.stop);
  const std::vector<ClientId> one{ClientId{0}};
  auto outcomes = pool.exchange(*algorithm, 1, 0, one);
  std::map<ClientId, Message> answers{{ClientId{0}, std::get<ClientAnswer>(outcomes.at(ClientId{0}).answer).message}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(test::served_bits(*algorithm), before);
}

TEST(FedAvg, ARoundInWhichEverybodyDroppedKeepsTheModel) {
  ToyRun run;
  const std::unique_ptr<Algorithm> algorithm = make_fedavg({});
  ServerContext server;
  server.model = run.model;
  server.initial = share(initialise(run.model, Rng(42)));
  algorithm->init(server);
  const auto before = test::served_bits(*algorithm);
  std::map<ClientId, Message> nobody;
  StageSeconds seconds;
  algorithm->uplink(1, 0, nobody, seconds);
  EXPECT_EQ(test::served_bits(*algorithm), before);
}

TEST(FedAvg, AveragesByExamples) {
  const ModelSpec model = test::toy_model({1, 2, 2}, 2);
  const auto answer = [&](float value, std::int64_t examples) {
    Parameters params(make_layout(model));
    std::fill(params.values().begin(), params.values().end(), value);
    return Message{{{"model", share(std::move(params))}, {"num_examples", Ints{examples}}}};
  };
  const std::unique_ptr<Algorithm> algorithm = make_fedavg({});
  std::map<ClientId, Message> answers{
      {ClientId{0}, answer(1, 3)}, {ClientId{1}, answer(4, 5)}, {ClientId{2}, answer(5, 9)}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  for (const float value : algorithm->served()[0].model->values()) {
    EXPECT_FLOAT_EQ(value, 4);  // (3 * 1 + 5 * 4 + 9 * 5) / 17; without counts 10 / 3
  }
}

TEST(FedAvg, ServesEverybodyTheGlobalModelAndChoosesNothing) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'fedavg'");
  static_cast<void>(loop.play_round());
  const ResultRecord result = loop.evaluate();
  ASSERT_TRUE(result.accuracy_known);
  EXPECT_NEAR(*result.accuracy_known, result.accuracy, 1e-9);
  EXPECT_FALSE(result.accuracy_nearest);
  EXPECT_FALSE(result.accuracy_few_label);
  EXPECT_FALSE(result.match_rate);
}

TEST(FedAvg, CostsOneModelEachWay) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'fedavg'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));  // and the number of examples
}

TEST(FedAvg, LearnsATaskThatIsTheSameForEverybody) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rotations = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'fedavg'");
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy, 60);
}

TEST(FedAvg, MomentumResetChangesTraining) {
  ToyRun run;
  RoundLoop round = run.loop("name = 'fedavg'");
  RoundLoop epoch = run.loop("name = 'fedavg'\nmomentum_reset = 'epoch'");
  static_cast<void>(round.play_round());
  static_cast<void>(epoch.play_round());
  EXPECT_NE(test::served_bits(round.algorithm()), test::served_bits(epoch.algorithm()));
}

}  // namespace
}  // namespace feroma
