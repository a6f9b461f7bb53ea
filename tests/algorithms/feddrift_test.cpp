#include "feroma/algorithms/feddrift.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

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
  EXPECT_EQ(models_in(feddrift), 2U);
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
  for (std::uint32_t k = 0; k < 3; ++k) {
    const Ints slots = loop.algorithm().downlink(3, 2, ClientId{k}).ints("slots");
    trained += *std::max_element(slots.begin(), slots.end()) + 1;
  }
  EXPECT_EQ(step.bytes_down, 3 * (3 * model + 2 * 8) + 8 * trained + 3 * (2 * 8 + 2 * 8));
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

class FedDriftAnswers : public testing::Test {
 protected:
  FedDriftAnswers() {
    FedDriftOptions options;
    options.merge_needs = 0;  // asks for no guesses
    algorithm = make_feddrift(options);
    ServerContext server;
    server.initial = initial;
    algorithm->init(server);
  }
  void answer(int phase, const Message& message) { answer_all(phase, {{ClientId{7}, message}}); }
  void answer_all(int phase, std::map<ClientId, Message> answers) {
    test::deliver(*algorithm, 1, phase, std::move(answers));
  }
  /// Each trains one model, and all of its values become the client's number.
  void train(const std::vector<ClientId>& clients) {
    std::map<ClientId, Message> answers;
    for (const ClientId client : clients) {
      Parameters model = initial->clone();
      std::fill(model.values().begin(), model.values().end(), static_cast<float>(to_index(client)));
      answers[client] = {{{"model.0", share(std::move(model))}, {"num_examples", Ints{5}}}};
    }
    answer_all(2, answers);
  }
  void play(int window, const Message& scores) {
    answer(0, {{{"window", Ints{window}}}});
    answer(1, scores);
    answer(2, {{{"model.0", initial}, {"num_examples", Ints{5}}}});
  }
  void refuses(std::string_view part, int phase, const Message& message) {
    expect_error(ErrorCode::invalid_data, part, [&] {
      answer(phase, message);
      return 0;
    });
  }

  std::unique_ptr<Algorithm> algorithm;
  const ParametersPtr initial = share(Parameters(make_layout(test::toy_model({1, 2, 2}, 2))));
};

// Two clients, two models, a second window. Each knows its own model as number 0 or 1 from scoring both; where they are
// alike they merge, and their mean is new to everybody: four windows chose the first, which says 6, and two the other.
TEST_F(FedDriftAnswers, NobodyIsSentAModelTwiceInARound) {
  const std::vector<ClientId> both{ClientId{6}, ClientId{7}};
  const auto window = [](int number) { return Message{{{"window", Ints{number}}}}; };
  const auto scores = [](float on_first, float on_second) {
    return Message{{{"merits", Floats{on_first, on_second, on_first, on_second}}, {"counts", Ints{10, 10}}}};
  };
  answer_all(0, {{ClientId{6}, window(0)}, {ClientId{7}, window(0)}});
  answer_all(1, {{ClientId{6}, {}}, {ClientId{7}, {}}});
  EXPECT_TRUE(algorithm->downlink(1, 2, ClientId{6}).has("model.0")) << "nothing was scored";
  train(both);
  answer_all(0, {{ClientId{6}, window(1)}, {ClientId{7}, window(1)}});
  answer_all(1, {{ClientId{6}, scores(9, 1)}, {ClientId{7}, scores(1, 9)}});
  for (const ClientId client : both) {
    const Message task = algorithm->downlink(2, 2, client);
    EXPECT_EQ(task.ints("kept"), Ints{to_index(client) - 6});
    EXPECT_FALSE(task.has("model.0"));
  }
  train(both);
  answer_all(0, {{ClientId{6}, window(2)}, {ClientId{7}, window(2)}});
  const auto three = [](float merit) { return Message{{{"merits", Floats(6, merit)}, {"counts", Ints{10, 10, 10}}}}; };
  answer_all(1, {{ClientId{6}, three(9)}, {ClientId{7}, three(9)}});
  ASSERT_EQ(algorithm->clusters()->models.size(), 1U);
  const Message task = algorithm->downlink(3, 2, ClientId{7});
  EXPECT_EQ(task.ints("kept"), Ints{-1});
  EXPECT_FLOAT_EQ(task.model("model.0")->values()[0], (4 * 6 + 2 * 7) / 6.0F);
}

TEST_F(FedDriftAnswers, WhoJoinedTheRoundLateIsSentItsModel) {
  const Message window{{{"window", Ints{0}}}};
  answer(0, window);
  answer(1, {});
  train({ClientId{7}});
  answer_all(0, {{ClientId{7}, {{{"window", Ints{1}}}}}, {ClientId{9}, window}});
  ASSERT_TRUE(algorithm->downlink(2, 1, ClientId{9}).has("model.0"));
  answer_all(1, {{ClientId{7}, {{{"merits", Floats{9, 9}}, {"counts", Ints{10, 10}}}}}});  // 9 does not answer
  EXPECT_FALSE(algorithm->downlink(2, 2, ClientId{7}).has("model.0"));
  EXPECT_FALSE(algorithm->downlink(2, 2, ClientId{9}).has("kept"));
}

TEST_F(FedDriftAnswers, MustFitWhatWasAsked) {
  refuses("[feddrift] client 7's window must be in 0..", 0, {{{"window", Ints{-1}}}});
  play(2, {});
  refuses("window must be in 2..", 0, {{{"window", Ints{1}}}});
  answer(0, {{{"window", Ints{3}}}});
  ASSERT_EQ(algorithm->downlink(1, 1, ClientId{7}).ints("windows"), (Ints{2, 3}));
  refuses("merits must have 2 values, got 1", 1, {{{"merits", Floats{1}}, {"counts", Ints{1, 1}}}});
  refuses("counts must have 2 values, got 1", 1, {{{"merits", Floats{1, 1}}, {"counts", Ints{1}}}});
  refuses("merits must be no more than the samples, got 6", 1, {{{"merits", Floats{1, 6}}, {"counts", Ints{5, 5}}}});
  refuses("finite", 1, {{{"merits", Floats{1, std::numeric_limits<float>::quiet_NaN()}}, {"counts", Ints{5, 5}}}});
  refuses("client 7's counts must be in 0..1000000000, got -1", 1,
          {{{"merits", Floats{1, -2}}, {"counts", Ints{5, -1}}}});
  answer(1, {{{"merits", Floats{1, 2}}, {"counts", Ints{5, 5}}}});
  const ParametersPtr model = initial;
  refuses("client 7's num_examples must be >= 1, got 0", 2, {{{"model.0", model}, {"num_examples", Ints{0}}}});
  refuses("num_examples must have 1 values, got 2", 2, {{{"model.0", model}, {"num_examples", Ints{1, 2}}}});
  Parameters broken = model->clone();
  broken.values()[0] = std::numeric_limits<float>::infinity();
  refuses("finite", 2, {{{"model.0", share(std::move(broken))}, {"num_examples", Ints{1}}}});
}

// Client 7's second window chose the other's model, so that it has two; the data of its first are gone.
TEST_F(FedDriftAnswers, AModelWithoutDataStaysAsItIs) {
  const std::vector<ClientId> both{ClientId{6}, ClientId{7}};
  const auto window = [](int number) { return Message{{{"window", Ints{number}}}}; };
  answer_all(0, {{ClientId{6}, window(0)}, {ClientId{7}, window(0)}});
  answer_all(1, {{ClientId{6}, {}}, {ClientId{7}, {}}});
  train(both);
  answer_all(0, {{ClientId{6}, window(1)}, {ClientId{7}, window(1)}});
  answer_all(1, {{ClientId{6}, {{{"merits", Floats{9, 1, 9, 1}}, {"counts", Ints{10, 10}}}}},
                 {ClientId{7}, {{{"merits", Floats{1, 9, 9, 1}}, {"counts", Ints{10, 10}}}}}});
  ASSERT_EQ(algorithm->downlink(2, 2, ClientId{7}).ints("slots"), (Ints{0, 1}));
  const auto trained = [this](const Ints& counts) {
    return Message{{{"model.0", initial}, {"model.1", initial}, {"num_examples", counts}}};
  };
  refuses("num_examples must be >= 1, got 0", 2, trained({0, 5}));
  refuses("num_examples must be in 0..1000000000, got -1", 2, trained({5, -1}));
  answer(2, trained({5, 0}));
  ASSERT_EQ(algorithm->clusters()->models.size(), 2U);
  EXPECT_EQ(algorithm->clusters()->models[0]->values()[0], 0);
  EXPECT_EQ(algorithm->clusters()->models[1]->values()[0], 7) << "nobody trained it";
}

TEST_F(FedDriftAnswers, AClientThatLeavesBetweenPhasesIsAskedAgain) {
  play(0, {});
  answer(0, {{{"window", Ints{1}}}});
  std::map<ClientId, Message> nobody;
  StageSeconds seconds;
  algorithm->uplink(2, 1, nobody, seconds);
  algorithm->uplink(2, 2, nobody, seconds);
  EXPECT_EQ(algorithm->clusters()->present, std::vector{ClientId{7}}) << "nobody came who could take its place";
  answer(0, {{{"window", Ints{1}}}});
  EXPECT_EQ(algorithm->downlink(3, 1, ClientId{7}).ints("windows"), (Ints{0, 1}));
  answer(1, {{{"merits", Floats{1, 2}}, {"counts", Ints{5, 5}}}});
  EXPECT_EQ(algorithm->downlink(3, 2, ClientId{7}).ints("windows"), (Ints{1, 0}));
}

TEST_F(FedDriftAnswers, WhoComesWithinAStepIsTheOnlyOneAsked) {
  const Message window{{{"window", Ints{0}}}};
  const std::vector<ClientId> known{ClientId{6}, ClientId{7}};
  answer_all(0, {{ClientId{6}, window}, {ClientId{7}, window}});
  answer_all(1, {{ClientId{6}, {}}, {ClientId{7}, {}}});
  train(known);
  ASSERT_EQ(algorithm->clusters()->models.size(), 2U);
  answer_all(0, {{ClientId{6}, window}, {ClientId{7}, window}, {ClientId{9}, window}});
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{6}).values.empty());
  EXPECT_EQ(algorithm->downlink(2, 1, ClientId{9}).ints("windows"), (Ints{0}));
  answer_all(
      1, {{ClientId{6}, {}}, {ClientId{7}, {}}, {ClientId{9}, {{{"merits", Floats{1, 1.5F}}, {"counts", Ints{10}}}}}});
  const ClusterView view = *algorithm->clusters();
  EXPECT_EQ(view.models.size(), 2U) << "no step, so nothing merges";
  EXPECT_EQ(view.shares.at(ClientId{9}), (std::vector<double>{0, 1}));
  train({ClientId{9}});
  EXPECT_EQ(algorithm->clusters()->shares.at(ClientId{6}), (std::vector<double>{1, 0})) << "absent, but not forgotten";
}

TEST_F(FedDriftAnswers, WhoComesBackLateIsAskedAboutItsNewWindowAlone) {
  const auto window = [](int number) { return Message{{{"window", Ints{number}}}}; };
  answer_all(0, {{ClientId{6}, window(0)}, {ClientId{7}, window(0)}});
  answer_all(1, {{ClientId{6}, {}}, {ClientId{7}, {}}});
  answer(0, window(1));  // 6 is away when the step begins
  EXPECT_EQ(algorithm->downlink(2, 1, ClientId{7}).ints("windows"), (Ints{0, 1}));
  answer(1, {{{"merits", Floats{9, 1, 9, 1}}, {"counts", Ints{10, 10}}}});
  answer_all(0, {{ClientId{6}, window(1)}, {ClientId{7}, window(1)}});
  EXPECT_TRUE(algorithm->downlink(3, 1, ClientId{7}).values.empty());
  EXPECT_EQ(algorithm->downlink(3, 1, ClientId{6}).ints("windows"), (Ints{1}));
}

TEST_F(FedDriftAnswers, NothingIsScoredBetweenWindows) {
  play(0, {});
  answer(0, {{{"window", Ints{0}}}});
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{7}).values.empty());
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
