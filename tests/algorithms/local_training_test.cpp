#include "feroma/algorithms/local_training.h"

#include <gtest/gtest.h>

#include "feroma/drift/federation.h"
#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(LocalTraining, ReportsTheHeldOutSplitBeforeAndAfter) {
  const Federation federation(test::toy_dataset(), test::toy_scenario());
  const ModelSpec model = test::toy_model(federation.shape(), 10);
  test::ToyEngine engine(model);
  Trainer trainer(engine);
  const ClientShard shard = federation.shard(ClientId{0}, 1);
  Message state;
  ClientReport report;
  StageSeconds seconds;
  ClientContext context{ClientId{0}, 1, 0, shard.train, shard.held_out, state, Rng(3), trainer, report, seconds};
  const Parameters received = initialise(model, Rng(1));
  const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
  const Parameters trained = train_locally(context, received, fit);

  Parameters expected = received.clone();
  const double loss = trainer.fit(expected, shard.train, fit, Rng(3).derive("train"));
  EXPECT_TRUE(std::equal(trained.values().begin(), trained.values().end(), expected.values().begin()));
  EXPECT_EQ(report.train_loss, loss);
  EXPECT_EQ(report.num_examples, static_cast<std::int64_t>(shard.train.size()));
  EXPECT_EQ(report.before.loss(), trainer.evaluate(received, shard.held_out).loss());
  EXPECT_EQ(report.after.loss(), trainer.evaluate(expected, shard.held_out).loss());
  EXPECT_NE(report.before.loss(), report.after.loss());
}

TEST(LocalTraining, RemembersMomentumWhereItIsKept) {
  const Federation federation(test::toy_dataset(), test::toy_scenario());
  const ModelSpec model = test::toy_model(federation.shape(), 10);
  test::ToyEngine engine(model);
  Trainer trainer(engine);
  const ClientShard shard = federation.shard(ClientId{0}, 1);
  const FitOptions fit{1, 16, 0.2, 0.9, MomentumReset::round};
  Parameters expected = initialise(model, Rng(1));
  Parameters received = expected.clone();
  std::vector<float> velocity(expected.size());
  FitHooks hooks;
  hooks.velocity = velocity;
  Message state;
  for (const std::uint64_t round : {1U, 2U}) {
    ClientReport report;
    StageSeconds seconds;
    ClientContext context{ClientId{0}, 1, 0, shard.train, shard.held_out, state, Rng(round), trainer, report, seconds};
    received = train_locally(context, received, fit, {}, "momentum");
    trainer.fit(expected, shard.train, fit, Rng(round).derive("train"), hooks);
    EXPECT_TRUE(std::equal(expected.values().begin(), expected.values().end(), received.values().begin()));
    EXPECT_EQ(state.floats("momentum"), velocity);
  }
  expect_error(ErrorCode::invalid_data, "momentum must have 3 values",
               [&] { return recall_momentum(state, "momentum", 3).size(); });
}

TEST(LocalTraining, ALearningRateOfZeroIsTheTrainings) {
  FitOptions fit;
  fit.learning_rate = 0.3;
  EXPECT_EQ(with_learning_rate(fit, 0).learning_rate, 0.3);
  EXPECT_EQ(with_learning_rate(fit, 0.1).learning_rate, 0.1);
}

// Momentum that is never restarted is part of what clients remember: a run that was interrupted goes on with it.
TEST(MomentumPolicy, NeverKeepsMomentumBetweenRoundsAndThroughCheckpoints) {
  test::ToyRun run;
  for (const std::string name : {"cfl", "ifca", "fesem", "fedem", "fedrc"}) {
    const std::string never = "name = '" + name + "'\nmomentum_reset = 'never'";
    RoundLoop usual = run.loop("name = '" + name + "'");
    RoundLoop whole = run.loop(never);
    static_cast<void>(usual.play_round());
    static_cast<void>(whole.play_round());
    EXPECT_EQ(test::served_bits(usual.algorithm()), test::served_bits(whole.algorithm())) << name << ": nothing yet";
    test::play_all(usual);
    test::play_all(whole);
    EXPECT_NE(test::served_bits(usual.algorithm()), test::served_bits(whole.algorithm())) << name;
    for (const int stop_after : {1, 3}) {
      RoundLoop first = run.loop(never);
      for (int i = 0; i < stop_after; ++i) {
        static_cast<void>(first.play_round());
      }
      RoundLoop second = run.loop(never);
      second.load(first.save(), "checkpoint");
      test::play_all(second);
      EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm())) << name;
      EXPECT_EQ(test::remembered_bits(whole), test::remembered_bits(second)) << name;
    }
    for (const auto& [client, values] : test::remembered_bits(whole)) {
      EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](const auto& value) {
        return value.first.starts_with("momentum.");
      })) << name;
    }
  }
}

TEST(MomentumPolicy, AllButNeverAreAsForEveryMethod) {
  FitOptions epoch;
  epoch.momentum_reset = MomentumReset::epoch;
  EXPECT_EQ(with_momentum(epoch, MomentumPolicy::inherit).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(with_momentum(epoch, MomentumPolicy::round).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum(epoch, MomentumPolicy::never).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum(FitOptions{}, MomentumPolicy::epoch).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(kept_momentum(MomentumPolicy::round), "");
  EXPECT_EQ(kept_momentum(MomentumPolicy::never), "momentum.model");
  EXPECT_EQ(kept_momentum(MomentumPolicy::never, "model.2"), "momentum.model.2");
}

TEST(MomentumChoice, InheritKeepsTheTrainingTablesRule) {
  FitOptions epoch;
  epoch.momentum_reset = MomentumReset::epoch;
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::inherit).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::round).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum({}, MomentumChoice::epoch).momentum_reset, MomentumReset::epoch);
}

}  // namespace
}  // namespace feroma
