#include "feroma/algorithms/local_training.h"

#include <gtest/gtest.h>

#include "feroma/algorithms/apfl.h"
#include "feroma/algorithms/fedavg.h"
#include "feroma/drift/federation.h"
#include "tests/algorithms/one_client.h"
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

/// All models of a run, those of the server and those that clients remember; momentum is left out.
std::pair<std::vector<float>, test::RememberedBits> models_of(const RoundLoop& loop) {
  test::RememberedBits remembered = test::remembered_bits(loop);
  for (auto& [client, values] : remembered) {
    std::erase_if(values, [](const auto& value) { return value.first.starts_with("momentum."); });
  }
  std::erase_if(remembered, [](const auto& memory) { return memory.second.empty(); });
  return {test::served_bits(loop.algorithm()), remembered};
}

void expect_to_resume(test::ToyRun& run, const std::string& algorithm) {
  RoundLoop whole = run.loop(algorithm);
  test::play_all(whole);
  for (const int stop_after : {1, 3}) {
    RoundLoop first = run.loop(algorithm);
    for (int i = 0; i < stop_after; ++i) {
      static_cast<void>(first.play_round());
    }
    RoundLoop second = run.loop(algorithm);
    second.load(first.save(), "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm())) << algorithm;
    EXPECT_EQ(test::remembered_bits(whole), test::remembered_bits(second)) << algorithm;
  }
  for (const auto& [client, values] : test::remembered_bits(whole)) {
    EXPECT_TRUE(std::any_of(values.begin(), values.end(), [](const auto& value) {
      return value.first.starts_with("momentum.");
    })) << algorithm;
  }
}

// Momentum that is never restarted is part of what clients remember: a run that was interrupted goes on with it.
TEST(MomentumChoice, NeverKeepsMomentumBetweenRoundsAndThroughCheckpoints) {
  test::ToyRun run;
  for (const std::string name : {"fedavg", "fedprox", "fedavgm", "fedadam", "fedyogi", "apfl", "local", "cfl", "ifca",
                                 "fesem", "fedem", "fedrc"}) {
    const std::string never = "name = '" + name + "'\nmomentum_reset = 'never'";
    RoundLoop usual = run.loop("name = '" + name + "'");
    RoundLoop kept = run.loop(never);
    static_cast<void>(usual.play_round());
    static_cast<void>(kept.play_round());
    EXPECT_EQ(models_of(usual), models_of(kept)) << name << ": nothing yet";
    test::play_all(usual);
    test::play_all(kept);
    EXPECT_NE(models_of(usual), models_of(kept)) << name;
    expect_to_resume(run, never);
  }
}

/// How far the one client's model, and its private one where it has one, is from the minimum after each of two rounds,
/// as a share of how far it was at first. The loss is half the squared distance.
std::vector<float> distances(std::unique_ptr<Algorithm> algorithm, const FitOptions& fit) {
  test::OneClient client(std::move(algorithm), fit, test::make_quadratic(/*curvature=*/1, /*centre=*/2));
  const auto distance = [](const ParametersPtr& model) { return model->values()[0] - 2; };
  const float first = distance(client.algorithm->served()[0].model);
  std::vector<float> shares;
  for (const Round round : {1, 2}) {
    static_cast<void>(client.play(round));
    shares.push_back(distance(client.algorithm->served()[0].model) / first);
    if (client.memory().has("private")) {
      EXPECT_NEAR(distance(client.memory().model("private")) / first, shares.back(), 1e-5F);
    }
  }
  return shares;
}

TEST(MomentumChoice, NeverGoesOnWithTheVelocityOfTheRoundBefore) {
  const FitOptions fit{1, 100000, 0.1, 0.9, MomentumReset::round};
  // One step a round. Round 1: velocity 1, distance 1 - 0.1 = 0.9. Round 2: velocity 0.9, distance 0.81; or velocity
  // 0.9 + 0.9 = 1.8, distance 0.9 - 0.18 = 0.72.
  for (const bool has_private : {false, true}) {
    const auto make = [&](MomentumChoice choice) {
      ApflOptions apfl;
      apfl.momentum_reset = choice;
      apfl.alpha = 1;
      return has_private ? make_apfl(apfl) : make_fedavg({choice});
    };
    const std::vector<float> restarts = distances(make(MomentumChoice::round), fit);
    EXPECT_NEAR(restarts[0], 0.9F, 1e-5F);
    EXPECT_NEAR(restarts[1], 0.81F, 1e-5F);
    const std::vector<float> keeps = distances(make(MomentumChoice::never), fit);
    EXPECT_EQ(keeps[0], restarts[0]);
    EXPECT_NEAR(keeps[1], 0.72F, 1e-5F);
  }
}

// Two passes of two steps on halved losses: v = v / 2 + d / 2, then d -= v / 5. From v = 0 and d = 1 these are
// 0.5, 0.9; 0.7, 0.76; 0.73, 0.614; 0.672, 0.4796. Where the second pass begins with v = 0, d ends as 0.76 * 0.76.
// A second round with v kept: 0.5758, 0.36444; 0.47012, 0.270416; 0.370268, 0.1963624; 0.2833152, 0.13969936.
// Both models go the same way, so that the mean of both is either.
TEST(MomentumChoice, NeverOutlivesThePassesOfApflsPublicCode) {
  const FitOptions fit{2, 100000, 0.2, 0.5, MomentumReset::round};
  ApflOptions options;
  options.variant = ApflVariant::fixed_half;
  EXPECT_NEAR(distances(make_apfl(options), fit)[0], 0.5776F, 1e-5F);
  options.momentum_reset = MomentumChoice::never;
  const std::vector<float> kept = distances(make_apfl(options), fit);
  EXPECT_NEAR(kept[0], 0.4796F, 1e-5F);
  EXPECT_NEAR(kept[1], 0.13969936F, 1e-5F);
  test::ToyRun run;
  expect_to_resume(run, "name = 'apfl'\nvariant = 'fixed_half'\nmomentum_reset = 'never'");
}

TEST(MomentumChoice, ApflsSharedModelIsFedAvgsWhereBothKeepMomentum) {
  test::ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'\nmomentum_reset = 'never'");
  RoundLoop apfl = run.loop("name = 'apfl'\nmomentum_reset = 'never'");
  test::play_all(fedavg);
  test::play_all(apfl);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(apfl.algorithm()));
}

TEST(MomentumChoice, NeverIsRefusedWhereClientsKeepNoMomentum) {
  test::ToyRun run;
  for (const std::string name : {"feroma", "fedavg-ft", "scaffold", "fedgps", "foogd", "feddrift", "shiftex", "ditto",
                                 "fedproto", "atp", "cola", "finetune", "centralised"}) {
    expect_error(ErrorCode::invalid_config,
                 "algorithm.0.momentum_reset must be one of inherit, epoch, round, got never",
                 [&] { return run.loop("name = '" + name + "'\nmomentum_reset = 'never'").rounds(); });
  }
}

TEST(MomentumChoice, InheritKeepsTheTrainingTablesRule) {
  FitOptions epoch;
  epoch.momentum_reset = MomentumReset::epoch;
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::inherit).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::round).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum(epoch, MomentumChoice::never).momentum_reset, MomentumReset::round);
  EXPECT_EQ(with_momentum({}, MomentumChoice::epoch).momentum_reset, MomentumReset::epoch);
  EXPECT_EQ(kept_momentum(MomentumChoice::round), "");
  EXPECT_EQ(kept_momentum(MomentumChoice::never), "momentum.model");
  EXPECT_EQ(kept_momentum(MomentumChoice::never, "model.2"), "momentum.model.2");
}

}  // namespace
}  // namespace feroma
