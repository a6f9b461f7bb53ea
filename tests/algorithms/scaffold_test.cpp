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

TEST(Scaffold, ServerVariateIsTheMeanOverEverybodyWhoEverAnswered) {
  OneClient server(make_scaffold({}));
  const ModelSpec& model = server.run.model;
  StageSeconds seconds;
  std::map<ClientId, Message> first{{ClientId{0}, answer_with(model, 1, 4, 1)},
                                    {ClientId{1}, answer_with(model, 1, 2, 9)}};
  server.algorithm->uplink(1, 0, first, seconds);
  const auto control = [&] { return server.algorithm->downlink(2, 0, ClientId{0}).model("control")->values()[0]; };
  EXPECT_FLOAT_EQ(control(), 3);  // (4 + 2) / 2, whatever the examples
  std::map<ClientId, Message> second{{ClientId{2}, answer_with(model, 1, 9, 1)}};
  server.algorithm->uplink(2, 0, second, seconds);
  EXPECT_FLOAT_EQ(control(), 5);  // (4 + 2 + 9) / 3
  std::map<ClientId, Message> third{{ClientId{0}, answer_with(model, 1, -3, 1)}};
  server.algorithm->uplink(3, 0, third, seconds);
  EXPECT_FLOAT_EQ(control(), 4);  // (1 + 2 + 9) / 3
  std::map<ClientId, Message> nobody;
  server.algorithm->uplink(4, 0, nobody, seconds);
  EXPECT_FLOAT_EQ(control(), 4);
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
