#include "feroma/algorithms/local_only.h"

#include <gtest/gtest.h>

#include "tests/algorithms/one_client.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

TEST(LocalOnly, TrainsOneModelForEver) {
  const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
  OneClient client(make_local_only({}), fit);
  Parameters expected = initialise(client.run.model, Rng(42).derive("init"));
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2, 3}) {
    static_cast<void>(client.play(round));
    const ClientShard shard = client.run.federation.shard(ClientId{0}, round);
    const Rng rng = Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train");
    trainer.fit(expected, shard.train, fit, rng);
    EXPECT_EQ(bits_of(client.memory().model("model")), bits_of(share(expected.clone())));
  }
}

TEST(LocalOnly, SendsNothing) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'local'");
  const RoundRecord record = loop.play_round();
  EXPECT_EQ(record.bytes_down, 0);
  EXPECT_EQ(record.bytes_up, 0);
  EXPECT_EQ(loop.totals().passes.backward, 2 * loop.totals().samples_held);
  EXPECT_TRUE(loop.algorithm().served().empty());
}

TEST(LocalOnly, KnownClientsGetTheirOwnModelAndStrangersTheMeanPrediction) {
  ToyRun run(test::lasting_concepts());
  RoundLoop shared = run.loop("name = 'fedavg'");
  test::play_all(shared);
  RoundLoop loop = run.loop("name = 'local'");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  ASSERT_TRUE(result.accuracy_known);
  ASSERT_TRUE(result.accuracy_personal);
  EXPECT_GT(*result.accuracy_known, *shared.evaluate().accuracy_known + 10);
  EXPECT_NEAR(result.accuracy, *result.accuracy_personal, 1e-9);
}

TEST(LocalOnly, ModelsAreTheSameAfterAResume) {
  ToyRun run(test::concept_scenario());
  RoundLoop whole = run.loop("name = 'local'");
  test::play_all(whole);
  RoundLoop first = run.loop("name = 'local'");
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  RoundLoop second = run.loop("name = 'local'");
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(*whole.evaluate().accuracy_known, *second.evaluate().accuracy_known);
}

TEST(LocalOnly, MomentumResetChangesTraining) {
  ToyRun run;
  RoundLoop round = run.loop("name = 'local'");
  RoundLoop epoch = run.loop("name = 'local'\nmomentum_reset = 'epoch'");
  EXPECT_NE(round.play_round().validation_loss, epoch.play_round().validation_loss);
}

// The models of an earlier round were in the clients' memories, which have moved on.
TEST(LocalOnly, HasNoBestRoundButTheLast) {
  bool last = false;
  bool earlier = false;
  for (const std::int64_t seed : {1, 2, 3, 4, 5, 6}) {
    ScenarioOptions scenario = test::toy_scenario();
    scenario.seed = seed;
    scenario.drifts = 5;
    ToyRun run(scenario);
    RoundLoop loop = run.loop("name = 'local'");
    test::play_all(loop);
    const bool is_last = loop.totals().best_round == loop.rounds();
    EXPECT_EQ(loop.evaluate().accuracy_best_round.has_value(), is_last);
    (is_last ? last : earlier) = true;
  }
  EXPECT_TRUE(last);
  EXPECT_TRUE(earlier);
}

}  // namespace
}  // namespace feroma
