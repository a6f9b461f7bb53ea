#include "feroma/algorithms/centralised.h"

#include <gtest/gtest.h>

#include "tests/algorithms/one_client.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

TEST(Centralised, WithOneClientIsLocalTraining) {
  const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
  OneClient probe(make_centralised({}), fit);
  const ClientShard shard = probe.run.federation.shard(ClientId{0}, 1);
  CentralisedOptions options;
  options.steps = static_cast<int>(2 * ((shard.train.size() + 15) / 16));
  OneClient client(make_centralised(options), fit);
  Parameters expected = client.algorithm->served()[0].model->clone();
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2}) {
    trainer.fit(expected, client.run.federation.shard(ClientId{0}, round).train, fit,
                Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train"));
    for (int phase = 0; phase < options.steps; ++phase) {
      std::map<ClientId, Message> answers{
          {ClientId{0}, std::get<ClientAnswer>(client.step(round, phase).answer).message}};
      StageSeconds seconds;
      client.algorithm->uplink(round, phase, answers, seconds);
    }
    EXPECT_EQ(test::served_bits(*client.algorithm), bits_of(share(expected.clone()))) << "round " << round;
  }
}

TEST(Centralised, AStepFollowsTheGradientOfAllMinibatchesTogether) {
  OneClient server(make_centralised({}), {1, 16, 0.5, 0, MomentumReset::round});
  const float before = test::served_bits(*server.algorithm)[0];
  const auto answer = [&](float gradient, std::int64_t examples) {
    Parameters params(make_layout(server.run.model));
    std::fill(params.values().begin(), params.values().end(), gradient);
    return Message{{{"gradient", share(std::move(params))}, {"num_examples", Ints{examples}}}};
  };
  std::map<ClientId, Message> answers{{ClientId{0}, answer(1, 12)}, {ClientId{1}, answer(5, 4)}};
  StageSeconds seconds;
  server.algorithm->uplink(1, 0, answers, seconds);
  EXPECT_NEAR(test::served_bits(*server.algorithm)[0], before - 0.5F * 2, 1e-6);
}

TEST(Centralised, CostsAModelAndAGradientPerStep) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'centralised'\nsteps = 3");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 3 * 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 3 * 6 * (model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 3 * 6 * 16);
  EXPECT_EQ(record.clients.size(), 6);
}

TEST(Centralised, LearnsATaskThatIsTheSameForEverybody) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rotations = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'centralised'\nsteps = 20");
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy, 60);
}

TEST(Centralised, EveryOptionChangesSomething) {
  ToyRun run;
  const auto bits = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'centralised'\n" + options);
    static_cast<void>(loop.play_round());
    return test::served_bits(loop.algorithm());
  };
  EXPECT_NE(bits("steps = 4"), bits("steps = 5"));
  EXPECT_NE(bits("steps = 4\nlearning_rate = 0.1"), bits("steps = 4"));
}

TEST(Centralised, AnEmptyStepChangesNothing) {
  OneClient server(make_centralised({}));
  const auto before = test::served_bits(*server.algorithm);
  std::map<ClientId, Message> nobody;
  StageSeconds seconds;
  server.algorithm->uplink(1, 0, nobody, seconds);
  EXPECT_EQ(test::served_bits(*server.algorithm), before);
}

}  // namespace
}  // namespace feroma
