#include "feroma/algorithms/scaffold.h"

#include <gtest/gtest.h>

#include "tests/algorithms/one_client.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

/// Answers of clients that moved from nowhere to `values`, with the given changes of their variates.
Message answer_with(const ModelSpec& model, float value, float change, std::int64_t examples) {
  Parameters params(make_layout(model));
  Parameters control(make_layout(model));
  std::fill(params.values().begin(), params.values().end(), value);
  std::fill(control.values().begin(), control.values().end(), change);
  return {{{"model", share(std::move(params))},
           {"control_change", share(std::move(control))},
           {"num_examples", Ints{examples}}}};
}

TEST(Scaffold, FirstRoundIsFedAvgs) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop scaffold = run.loop("name = 'scaffold'");
  static_cast<void>(fedavg.play_round());
  static_cast<void>(scaffold.play_round());
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(scaffold.algorithm()));
  static_cast<void>(fedavg.play_round());
  static_cast<void>(scaffold.play_round());
  EXPECT_NE(test::served_bits(fedavg.algorithm()), test::served_bits(scaffold.algorithm()));
}

TEST(Scaffold, AVariateIsTheMeanGradientOfTheRound) {
  for (const double momentum : {0.0, 0.9}) {
    for (const MomentumReset reset : {MomentumReset::round, MomentumReset::epoch}) {
      // A loss so flat that its slope is the same everywhere: curvature 1e-4, centre 1e5, slope -10.
      OneClient client(make_scaffold({}), {2, 16, 1e-3, momentum, reset}, test::make_quadratic(1e-4F, 1e5F));
      static_cast<void>(client.play(1));
      for (const float value : bits_of(client.memory().model("control"))) {
        EXPECT_NEAR(value, -10, 0.02) << "momentum " << momentum;
      }
      static_cast<void>(client.play(2));  // option II: the correction of the second round is taken out again
      for (const float value : bits_of(client.memory().model("control"))) {
        EXPECT_NEAR(value, -10, 0.02) << "momentum " << momentum;
      }
    }
  }
}

/// The server's variate as clients would be sent it after each of some rounds; each answer is a change.
std::vector<float> controls_after(const ScaffoldOptions& options, int clients,
                                  const std::vector<std::map<std::uint32_t, float>>& rounds) {
  OneClient server(make_scaffold(options), {2, 16, 0.2, 0.9, MomentumReset::round}, test::make_toy_engine, clients);
  std::vector<float> controls;
  for (const auto& round : rounds) {
    std::map<ClientId, Message> answers;
    for (const auto& [client, change] : round) {
      answers[static_cast<ClientId>(client)] = answer_with(server.run.model, 1, change, 1 + client);
    }
    StageSeconds seconds;
    server.algorithm->uplink(1, 0, answers, seconds);
    controls.push_back(server.algorithm->downlink(2, 0, ClientId{0}).model("control")->values()[0]);
  }
  return controls;
}

// The paper's line 17: c moves by |S|/N times the mean change of those who answered, newcomers included. N c is
// the sum of everybody's variates then: here (4 + 2), with 9 of a newcomer, with -3 of who was there before.
TEST(Scaffold, ServerVariateMovesByTheShareOfAllClientsThatAnswered) {
  const std::vector<float> controls = controls_after({}, 8, {{{0, 4}, {1, 2}}, {{2, 9}}, {{0, -3}}, {}});
  EXPECT_EQ(controls, (std::vector<float>{6.0F / 8, 15.0F / 8, 12.0F / 8, 12.0F / 8}));
  EXPECT_EQ(controls_after({}, 4, {{{0, 1}}}), std::vector<float>{0.25F}) << "a newcomer's step is one of four";
}

TEST(Scaffold, WithEverybodyThereTheMeanIsTheSameEitherWay) {
  const std::vector<std::map<std::uint32_t, float>> rounds{{{0, 4}, {1, 2}}, {{0, 1}, {1, 8}}};
  EXPECT_EQ(controls_after({}, 2, rounds), (std::vector<float>{3, 7.5F}));
  EXPECT_EQ(controls_after({.variate_mean = VariateMean::answered}, 2, rounds), controls_after({}, 2, rounds));
}

TEST(Scaffold, MoreClientsThanTheRunSaidCountAsWell) {
  EXPECT_EQ(controls_after({}, 1, {{{0, 4}}, {{1, 2}, {2, 6}}}), (std::vector<float>{4, 4}));
}

TEST(Scaffold, ServerVariateMayBeTheMeanOverThoseWhoEverAnswered) {
  const std::vector<float> controls =
      controls_after({.variate_mean = VariateMean::answered}, 8, {{{0, 4}, {1, 2}}, {{2, 9}}, {{0, -3}}, {}});
  EXPECT_EQ(controls, (std::vector<float>{3, 5, 4, 4}));
}

/// Over a whole run with a third of the clients a round, the server's variate times N is the sum of the clients' own.
TEST(Scaffold, VariatesSumUpToTheServersTimesAllClients) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.34;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'scaffold'");
  for (Round round = 1; round <= 4; ++round) {
    static_cast<void>(loop.play_round());
    const Message task = loop.algorithm().downlink(round + 1, 0, ClientId{0});
    const std::vector<float> control = bits_of(task.model("control"));
    std::vector<double> sum(control.size());
    std::size_t met = 0;
    for (const auto& [client, memory] : loop.memories()) {
      if (memory->has("control")) {
        ++met;
        const std::vector<float> own = bits_of(memory->model("control"));
        std::transform(own.begin(), own.end(), sum.begin(), sum.begin(),
                       [](float a, double b) { return static_cast<double>(a) + b; });
      }
    }
    if (round == 1) {
      EXPECT_EQ(met, 2U) << "of 6: otherwise this shows nothing";
    }
    for (std::size_t i = 0; i < control.size(); ++i) {
      EXPECT_NEAR(6 * static_cast<double>(control[i]), sum[i], 1e-4);
    }
  }
}

TEST(Scaffold, ServerRateScalesTheStep) {
  ScaffoldOptions options;
  options.server_rate = 0.5;
  OneClient server(make_scaffold(options));
  const float before = test::served_bits(*server.algorithm)[0];
  std::map<ClientId, Message> answers{{ClientId{0}, answer_with(server.run.model, 8, 0, 3)}};
  StageSeconds seconds;
  server.algorithm->uplink(1, 0, answers, seconds);
  EXPECT_FLOAT_EQ(test::served_bits(*server.algorithm)[0], 0.5F * (before + 8));
}

TEST(Scaffold, ModelsWeighTheSameOrByExamples) {
  for (const Averaging averaging : {Averaging::uniform, Averaging::examples}) {
    OneClient server(make_scaffold({.averaging = averaging}));
    test::deliver(*server.algorithm, 1, 0,
                  {{ClientId{0}, answer_with(server.run.model, 1, 0, 30)},
                   {ClientId{1}, answer_with(server.run.model, 5, 0, 10)}});
    EXPECT_FLOAT_EQ(test::served_bits(*server.algorithm)[0], averaging == Averaging::uniform ? 3 : 2);
  }
}

TEST(Scaffold, CostsTwoModelsEachWayAndFedAvgsPasses) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'scaffold'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * 2 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (2 * model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 2 * loop.totals().samples_held);
}

TEST(Scaffold, LearnsATaskThatIsTheSameForEverybody) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rotations = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'scaffold'");
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy, 60);
}

TEST(Scaffold, MomentumResetChangesTraining) {
  ToyRun run;
  RoundLoop round = run.loop("name = 'scaffold'");
  RoundLoop epoch = run.loop("name = 'scaffold'\nmomentum_reset = 'epoch'");
  static_cast<void>(round.play_round());
  static_cast<void>(epoch.play_round());
  EXPECT_NE(test::served_bits(round.algorithm()), test::served_bits(epoch.algorithm()));
}

TEST(Scaffold, AServerStepPastTheMeanLeavesBuffersAtTheMean) {
  const ModelSpec spec{"norm", {1, 2, 2}, 2, {Conv2d{"a", 2, 1, 0}, BatchNorm{"b"}, Flatten{}, Linear{"c", 2}}};
  ScaffoldOptions options;
  options.server_rate = 2;
  const auto algorithm = make_scaffold(options);
  ServerContext server;
  server.model = spec;
  server.initial = share(initialise(spec, Rng(1)));
  algorithm->init(server);
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, answer_with(spec, 3, 0, 4)}});
  const ServedModel served = algorithm->served()[0];
  const std::vector<Segment>& segments = served.model->layout().segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const float before = server.initial->segment(i)[0];
    EXPECT_FLOAT_EQ(served.model->segment(i)[0], segments[i].kind == SegmentKind::buffer ? 3 : 6 - before)
        << segments[i].name;
  }
}

TEST(Scaffold, BrokenVariatesAreRefused) {
  OneClient server(make_scaffold({}));
  std::map<ClientId, Message> answers{
      {ClientId{0}, answer_with(server.run.model, 1, std::numeric_limits<float>::infinity(), 3)}};
  expect_error(ErrorCode::invalid_data, "client 0's control_change must be finite", [&] {
    test::deliver(*server.algorithm, 1, 0, answers);
    return 0;
  });
}

}  // namespace
}  // namespace feroma
