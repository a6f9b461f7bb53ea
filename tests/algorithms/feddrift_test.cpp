#include "feroma/algorithms/feddrift.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "algorithms/join_views.h"
#include "feroma/aggregation/mix.h"
#include "feroma/runtime/client_step.h"
#include "tests/algorithms/two_concept_scenario.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

/// Two concepts in several windows; clients keep theirs, or change it with every window.
ScenarioOptions windows_of_two_concepts(int rounds, int windows, bool change) {
  ScenarioOptions scenario = test::two_concepts(rounds);
  scenario.drifts = windows;
  scenario.force_change = change;
  scenario.max_distributions = change ? 0 : 1;
  return scenario;
}

std::size_t models_in(const RoundLoop& loop) { return loop.algorithm().clusters()->models.size(); }

bool is_used(const ClusterView& view, std::size_t model) {
  return std::any_of(view.shares.begin(), view.shares.end(),
                     [&](const auto& shares) { return shares.second[model] > 0; });
}
/// Those that are somebody's newest; others rest.
std::size_t models_in_use(const RoundLoop& loop) {
  const ClusterView view = *loop.algorithm().clusters();
  std::size_t used = 0;
  for (std::size_t m = 0; m < view.models.size(); ++m) {
    used += is_used(view, m) ? 1U : 0U;
  }
  return used;
}

TEST(FedDrift, OneModelInOneWindowIsFedAvg) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.drifts = 1;
  ToyRun run(scenario);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop feddrift = run.loop("name = 'feddrift'\nvariant = 'C'\ndelta = 2.0");
  test::play_all(fedavg);
  test::play_all(feddrift);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(feddrift.algorithm()));
  EXPECT_EQ(fedavg.totals().passes.forward, feddrift.totals().passes.forward);
  EXPECT_EQ(fedavg.totals().passes.backward, feddrift.totals().passes.backward);
}

/// Where data never change variant F is a model for every client, and the method says so.
TEST(FedDrift, InOneWindowIsLocalTrainingAndSaysSo) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.drifts = 1;
  ToyRun run(scenario);
  RoundLoop local = run.loop("name = 'local'");
  RoundLoop feddrift = run.loop("name = 'feddrift'");
  test::play_all(local);
  test::play_all(feddrift);
  const ClusterView view = *feddrift.algorithm().clusters();
  ASSERT_EQ(view.models.size(), 6U);
  for (const auto& [client, memory] : local.memories()) {
    const std::vector<double>& shares = view.shares.at(client);
    const auto own = static_cast<std::size_t>(std::find(shares.begin(), shares.end(), 1.0) - shares.begin());
    const auto bits = memory->model("model")->values();
    EXPECT_TRUE(std::equal(bits.begin(), bits.end(), view.models[own]->values().begin())) << to_index(client);
  }
  EXPECT_EQ(feddrift.evaluate().accuracy, local.evaluate().accuracy);
  const auto remark = [&](const std::string& options, int windows) {
    RoundLoop::Setup setup = run.setup("name = 'feddrift'\n" + options);
    setup.server.windows = windows;
    return RoundLoop(std::move(setup)).algorithm().remark();
  };
  EXPECT_NE(remark("", 1).find("variant F is local training here"), std::string::npos) << remark("", 1);
  EXPECT_NE(remark("variant = 'C'", 1).find("it is FedAvg here"), std::string::npos);
  EXPECT_EQ(remark("", 2), "");
  EXPECT_EQ(remark("", 0), "") << "nobody knows";
}

// Clients leave models that did well on their first windows for others: some are nobody's newest any more.
TEST(FedDrift, ModelsThatNobodyUsesRestAndCostNothing) {
  ToyRun run(windows_of_two_concepts(12, 4, false));
  const auto play = [&](const std::string& idle) {
    RoundLoop loop = run.loop("name = 'feddrift'\ndelta = 0.4\nidle_models = '" + idle + "'");
    int idle_rounds = 0;
    int changed = 0;
    static_cast<void>(loop.play_round());
    for (Round round = 2; round <= 12; ++round) {
      const bool begins_step =
          run.federation.shard(ClientId{0}, round).window != run.federation.shard(ClientId{0}, round - 1).window;
      const ClusterView before = *loop.algorithm().clusters();
      static_cast<void>(loop.play_round());
      const ClusterView after = *loop.algorithm().clusters();
      for (std::size_t m = 0; m < before.models.size() && !begins_step; ++m) {
        if (!is_used(after, m)) {
          ++idle_rounds;
          const auto was = before.models[m]->values();
          changed += std::equal(was.begin(), was.end(), after.models[m]->values().begin()) ? 0 : 1;
        }
      }
    }
    EXPECT_GT(idle_rounds, 0) << idle << ": otherwise this shows nothing";
    return std::pair(changed, loop.totals());
  };
  const auto [changed, costs] = play("rest");
  const auto [trained, more] = play("train");
  EXPECT_EQ(changed, 0);
  EXPECT_GT(trained, 0);
  EXPECT_LT(costs.passes.backward, more.passes.backward);
  EXPECT_LT(costs.bytes_up, more.bytes_up);
}

TEST(FedDrift, ATolerancePastAnyFallEndsWithOneModel) {
  ToyRun run;
  for (const std::string options : {"variant = 'C'\ndelta = 2.0", "variant = 'F'\ndelta = 2.0"}) {
    RoundLoop loop = run.loop("name = 'feddrift'\n" + options);
    test::play_all(loop);
    EXPECT_EQ(models_in(loop), 1U) << options;
  }
}

// Three windows in five rounds, of one distribution: the last rounds train on all three.
TEST(FedDrift, ClientsTrainOnAllTheirWindows) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feddrift'\nvariant = 'C'\ndelta = 2.0");
  std::int64_t expected = 0;
  for (Round round = 1; round <= 5; ++round) {
    const std::int64_t before = loop.totals().passes.backward;
    static_cast<void>(loop.play_round());
    expected = 0;
    for (std::uint32_t k = 0; k < 6; ++k) {
      int last = -1;
      for (Round past = 1; past <= round; ++past) {
        const ClientShard shard = run.federation.shard(ClientId{k}, past);
        expected += shard.window != last ? 2 * static_cast<std::int64_t>(shard.train.size()) : 0;
        last = shard.window;
      }
    }
    EXPECT_EQ(loop.totals().passes.backward - before, expected) << "round " << round;
  }
}

// The first round of the second window, by hand: everybody trains on both, the newer one first, and counts with both.
TEST(FedDrift, OneModelIsFedAvgOverAllThatClientsHaveSeen) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feddrift'\nvariant = 'C'\ndelta = 2.0");
  Round round = 1;
  while (run.federation.shard(ClientId{0}, round).window == 0) {
    static_cast<void>(loop.play_round());
    ++round;
  }
  const ParametersPtr before = loop.algorithm().served().front().model;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  const Rng rng(static_cast<std::uint64_t>(run.federation.options().seed));
  std::vector<ParametersPtr> models;
  std::vector<std::int64_t> counts;
  for (std::uint32_t k = 0; k < 6; ++k) {
    ASSERT_EQ(run.federation.shard(ClientId{k}, round).window, 1);
    const std::vector<View> windows{run.federation.shard(ClientId{k}, round).train,
                                    run.federation.shard(ClientId{k}, round - 1).train};
    const View both = join_views(windows);
    Parameters params = before->clone();
    trainer.fit(params, both, {2, 16, 0.2, 0.9, MomentumReset::round},
                client_stream(rng, ClientId{k}, round).derive("train", 0));
    models.push_back(share(std::move(params)));
    counts.push_back(static_cast<std::int64_t>(both.size()));
  }
  static_cast<void>(loop.play_round());
  const Parameters expected = weighted_mean(models, counts);
  EXPECT_EQ(test::served_bits(loop.algorithm()),
            std::vector<float>(expected.values().begin(), expected.values().end()));
}

TEST(FedDrift, SeparatesTwoConcepts) {
  ToyRun run(windows_of_two_concepts(12, 4, false));
  // Windows of two dozen samples: a model knows its own much better than others of the same concept.
  RoundLoop feddrift = run.loop("name = 'feddrift'\ndelta = 0.4");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(feddrift);
  test::play_all(fedavg);
  EXPECT_TRUE(test::separates_concepts(run.federation, *feddrift.algorithm().clusters()));
  EXPECT_EQ(models_in_use(feddrift), 2U);
  EXPECT_GT(*feddrift.evaluate().accuracy_known, 90);
  EXPECT_LT(*fedavg.evaluate().accuracy_known, 65);
}

TEST(FedDrift, FollowsClientsThatChangeTheirConcept) {
  ToyRun run(windows_of_two_concepts(12, 4, true));
  for (const std::string variant : {"F", "C", "eager"}) {
    RoundLoop loop = run.loop("name = 'feddrift'\nmeasure = 'accuracy'\nvariant = '" + variant + "'");
    test::play_all(loop);
    EXPECT_TRUE(variant != "F" || test::separates_concepts(run.federation, *loop.algorithm().clusters()));
    EXPECT_GT(*loop.evaluate().accuracy_known, variant == "F" ? 90 : 60) << variant;
    EXPECT_GE(models_in(loop), 2U) << variant;
  }
}

TEST(FedDrift, EveryOptionChangesSomething) {
  ToyRun run(windows_of_two_concepts(8, 4, true));
  const auto bits = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'feddrift'\n" + options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  const auto usual = bits("");
  EXPECT_NE(usual, bits("variant = 'C'"));
  EXPECT_NE(bits("merge_delta = 0.5"), bits("measure = 'loss'\nmerge_delta = 0.5"));
  EXPECT_NE(usual, bits("local_steps = 1"));
  EXPECT_NE(usual, bits("delta = 2.0"));
  EXPECT_NE(usual, bits("merge_delta = 2.0"));
  EXPECT_NE(usual, bits("pool = 1"));
  EXPECT_NE(usual, bits("score_batches = 1"));
  EXPECT_NE(usual, bits("merge_needs = 0.9"));
  EXPECT_EQ(usual, bits("score_batches = 0"));  // windows of two dozen samples
  EXPECT_NE(usual, bits("momentum_reset = 'epoch'"));
  EXPECT_NE(bits("variant = 'C'"), bits("variant = 'eager'"));
}

// Every round: 8 up for the number of the window. Windows after the first begin with all
// models down and a merit for each of them and every window up, and a count of samples for every window.
TEST(FedDrift, CostsTheModelsThatAreScoredAndTrained) {
  ScenarioOptions scenario = windows_of_two_concepts(4, 2, false);
  scenario.clients = 3;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'feddrift'\nmerge_needs = 0.9");
  const auto model = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  const RoundRecord first = loop.play_round();
  EXPECT_EQ(first.bytes_down, 3 * (model + 8 + 8));  // with the window and where it belongs
  EXPECT_EQ(first.bytes_up, 3 * (8 + model + 8));
  static_cast<void>(loop.play_round());
  const RoundRecord step = loop.play_round();
  ASSERT_EQ(run.federation.shard(ClientId{0}, 3).window, 1);
  ASSERT_EQ(run.federation.shard(ClientId{0}, 2).window, 0);
  ASSERT_EQ(models_in(loop), 3U) << "none merged, so that none is sent again";
  std::int64_t trained = 0;
  std::int64_t windows = 0;
  for (std::uint32_t k = 0; k < 3; ++k) {
    const Ints slots = loop.algorithm().downlink(3, 2, ClientId{k}).ints("slots");
    windows += static_cast<std::int64_t>(slots.size());
    trained += *std::max_element(slots.begin(), slots.end()) + 1;
  }
  EXPECT_EQ(step.bytes_down, 3 * (3 * model + 2 * 8) + 8 * trained + windows * (8 + 8));
  EXPECT_EQ(step.bytes_up, 3 * (8 + 3 * 2 * 4 + 2 * 4 + 2 * 8) + trained * (model + 8));
}

// One minibatch of 16 for each model that a client trains.
TEST(FedDrift, CountsMinibatchesInsteadOfEpochsWhereAsked) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feddrift'\nlocal_steps = 1");
  static_cast<void>(loop.play_round());
  EXPECT_EQ(loop.totals().passes.backward, 6 * 16);
  EXPECT_EQ(loop.totals().passes.forward, 6 * 16);
}

TEST(FedDrift, ScoresEveryCandidateOnEveryWindow) {
  ToyRun run(windows_of_two_concepts(4, 2, false));
  RoundLoop loop = run.loop("name = 'feddrift'");
  static_cast<void>(loop.play_round());
  static_cast<void>(loop.play_round());
  const Passes before = loop.totals().passes;
  static_cast<void>(loop.play_round());
  const Passes after = loop.totals().passes;
  std::int64_t samples = 0;
  for (std::uint32_t k = 0; k < 10; ++k) {
    for (const Round round : {1, 3}) {
      samples += static_cast<std::int64_t>(run.federation.shard(ClientId{k}, round).train.size());
    }
  }
  // Ten models on all samples; then training, each sample of which goes forward and back.
  EXPECT_EQ((after.forward - before.forward) - (after.backward - before.backward), 10 * samples);
}

// Ten models on one batch of 16 of each of the two windows of ten clients.
TEST(FedDrift, ScoresNoMoreBatchesThanAllowed) {
  ToyRun run(windows_of_two_concepts(4, 2, false));
  RoundLoop loop = run.loop("name = 'feddrift'\nscore_batches = 1");
  static_cast<void>(loop.play_round());
  static_cast<void>(loop.play_round());
  const Passes before = loop.totals().passes;
  static_cast<void>(loop.play_round());
  const Passes after = loop.totals().passes;
  EXPECT_EQ((after.forward - before.forward) - (after.backward - before.backward), 10 * 10 * 2 * 16);
}

// So large a delta makes all models look alike, whether they know their own data or not.
TEST(FedDrift, WaitsForModelsToLearnWhereSkillIsNeeded) {
  ScenarioOptions scenario = windows_of_two_concepts(4, 4, false);
  ToyRun run(scenario);
  const auto models_after_a_step = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'feddrift'\ndelta = 0.9\n" + options);
    static_cast<void>(loop.play_round());
    static_cast<void>(loop.play_round());
    return models_in(loop);
  };
  EXPECT_EQ(models_after_a_step("merge_needs = 0.0"), 1U);
  EXPECT_GT(models_after_a_step("merge_needs = 0.05"), 1U) << "some know nothing yet";
  EXPECT_LT(models_after_a_step("merge_needs = 0.05"), 10U);
  EXPECT_EQ(models_after_a_step("merge_needs = 0.89"), 10U) << "nothing is so much better than a guess of one in ten";
}

TEST(FedDrift, WorksWhereClientsComeAndGo) {
  ScenarioOptions scenario = windows_of_two_concepts(10, 5, true);
  scenario.participation = 0.4;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'feddrift'\nisolation = 2");
  test::play_all(loop);
  const ClusterView view = *loop.algorithm().clusters();
  EXPECT_EQ(view.present.size(), 4U);
  EXPECT_EQ(view.shares.size(), 10U) << "who was here before is not forgotten";
  EXPECT_GE(models_in(loop), 2U);
  EXPECT_GT(*loop.evaluate().accuracy_known, 70);
}

TEST(FedDrift, RunsWithAHundredClients) {
  ScenarioOptions scenario = windows_of_two_concepts(4, 2, false);
  scenario.clients = 100;
  scenario.test_clients = 10;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'feddrift'\nmerge_needs = 0.0");
  static_cast<void>(loop.play_round());
  EXPECT_EQ(models_in(loop), 100U);
  test::play_all(loop);
  EXPECT_LT(models_in(loop), 90U);
}

// A client of a federation that was started again has not read what it had before.
TEST(FedDrift, AClientWithoutItsPastWindowsAnswersForWhatItHas) {
  ToyRun run(windows_of_two_concepts(4, 2, false));
  const std::unique_ptr<Algorithm> algorithm = make_feddrift({});
  EXPECT_TRUE(algorithm->asks_for_past_windows());
  ServerContext server;
  server.model = run.model;
  server.initial = share(initialise(run.model, Rng(1)));
  server.fit = {2, 16, 0.2, 0.9, MomentumReset::round};
  algorithm->init(server);
  const ClientShard shard = run.federation.shard(ClientId{0}, 3);
  ASSERT_EQ(shard.window, 1);
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  const auto gone = [](int window) -> View { fail(ErrorCode::invalid_data, "version {} is gone", window); };
  const ClientSeat seat{ClientId{0}, Rng(1), shard, gone, nullptr};
  ClientMemory memory;
  const auto answer = [&](int task, const Message& received) {
    return std::get<ClientAnswer>(take_step(*algorithm, 3, task, received, seat, memory, trainer).answer).message;
  };
  const Message scores = answer(1, {{{"model.0", server.initial}, {"windows", Ints{0, 1}}}});
  EXPECT_EQ(scores.ints("counts").front(), 0);
  EXPECT_GT(scores.ints("counts").back(), 0);
  EXPECT_EQ(scores.floats("merits").front(), 0);
  EXPECT_EQ(scores.floats("merits").size(), 2U);
  EXPECT_EQ(scores.floats("guesses").size(), 2U);
  const Message trained = answer(
      2, {{{"model.0", server.initial}, {"model.1", server.initial}, {"windows", Ints{1, 0}}, {"slots", Ints{0, 1}}}});
  EXPECT_EQ(trained.ints("num_examples"), (Ints{static_cast<std::int64_t>(shard.train.size()), 0}));
  EXPECT_NE(trained.model("model.0"), server.initial);
  EXPECT_EQ(trained.model("model.1"), server.initial) << "as it was sent";
}

TEST(FedDrift, ResumesBetweenWindows) {
  ToyRun run(windows_of_two_concepts(6, 3, true));
  const std::string options = "name = 'feddrift'\nvariant = 'C'\nisolation = 2";
  RoundLoop whole = run.loop(options);
  test::play_all(whole);
  for (int stop_after = 1; stop_after < 6; ++stop_after) {
    RoundLoop first = run.loop(options);
    for (int i = 0; i < stop_after; ++i) {
      static_cast<void>(first.play_round());
    }
    RoundLoop second = run.loop(options);
    second.load(first.save(), "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
    EXPECT_EQ(whole.algorithm().clusters()->shares, second.algorithm().clusters()->shares);
  }
}

TEST(FedDriftOptions, WhatEagerIgnoresIsRefused) {
  ToyRun run;
  for (const std::string option : {"merge_delta = 0.2", "merge_needs = 0.2", "isolation = 2", "linkage = 'single'"}) {
    expect_error(ErrorCode::invalid_config, "would be ignored: it needs variant F or C",
                 [&] { return run.loop("name = 'feddrift'\nvariant = 'eager'\n" + option).rounds(); });
  }
}

}  // namespace
}  // namespace feroma
