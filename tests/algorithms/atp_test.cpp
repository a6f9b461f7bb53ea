#include "feroma/algorithms/atp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

const std::string kShort = "name = 'atp'\nrate_rounds = 3\nbatch_size = 8\nrate_learning_rate = 2.0\n";

/// Everything but the rates.
std::vector<float> model_bits(const Algorithm& algorithm) {
  const auto values = algorithm.served().at(0).model->values();
  return {values.begin(), values.end()};
}
std::vector<float> rates_of(const Algorithm& algorithm) { return algorithm.served().at(0).profile; }

void play(RoundLoop& loop, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    static_cast<void>(loop.play_round());
  }
}

TEST(Atp, IsFedAvgWithZeroRates) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop still = run.loop("name = 'atp'\nrate_learning_rate = 0.0");
  RoundLoop none = run.loop("name = 'atp'\nrate_rounds = 0");
  test::play_all(fedavg);
  test::play_all(still);
  test::play_all(none);
  EXPECT_EQ(none.finished_rounds(), 5);
  EXPECT_EQ(still.finished_rounds(), 25);
  for (RoundLoop* loop : {&still, &none}) {
    EXPECT_EQ(model_bits(loop->algorithm()), model_bits(fedavg.algorithm()));
    EXPECT_EQ(loop->evaluate().accuracy, fedavg.evaluate().accuracy);
  }
}

TEST(Atp, LearningRatesLeavesTheModelAlone) {
  ToyRun run;
  RoundLoop loop = run.loop(kShort);
  play(loop, 5);
  const std::vector<float> model = model_bits(loop.algorithm());
  EXPECT_EQ(rates_of(loop.algorithm()), Floats(2));
  test::play_all(loop);
  EXPECT_EQ(loop.finished_rounds(), 8);
  static_cast<void>(loop.evaluate());
  EXPECT_EQ(model_bits(loop.algorithm()), model);
  EXPECT_NE(rates_of(loop.algorithm()), Floats(2));
}

TEST(Atp, SendsTheFinalModelOnceAndThenRatesOnly) {
  ToyRun run;
  RoundLoop loop = run.loop(kShort);
  const auto model = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  const std::int64_t rates = 4 * 2;
  play(loop, 5);
  const RoundRecord first = loop.play_round();
  EXPECT_EQ(first.bytes_down, 6 * (model + rates));
  EXPECT_EQ(first.bytes_up, 6 * rates);
  const RoundRecord second = loop.play_round();
  EXPECT_EQ(second.bytes_down, 6 * rates);
  EXPECT_EQ(second.bytes_up, 6 * rates);
}

TEST(Atp, LeNet5HasTenRates) {
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  const std::unique_ptr<Algorithm> algorithm = make_atp({});
  ServerContext server;
  server.model = model;
  server.initial = share(initialise(model, Rng(1)));
  server.rounds = 1;
  algorithm->init(server);
  EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).bytes(), 4 * 61706);
  std::map<ClientId, Message> answers{{ClientId{0}, {{{"rates", Floats(10, 1.0F)}}}}, {ClientId{1}, {}}};
  StageSeconds seconds;
  algorithm->uplink(2, 0, answers, seconds);
  EXPECT_EQ(algorithm->downlink(3, 0, ClientId{0}).bytes(), 4 * 10);
  EXPECT_EQ(algorithm->downlink(3, 0, ClientId{7}).bytes(), 4 * (61706 + 10)) << "a newcomer has no model yet";
  EXPECT_EQ(rates_of(*algorithm), Floats(10, 1.0F)) << "a client without held-out samples has no say";
}

TEST(Atp, AdaptingATestClientCostsOneStep) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'atp'");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_EQ(result.test_forward_passes, 2) << "the step's and the prediction's";
  EXPECT_EQ(result.test_backward_passes, 1);
  EXPECT_EQ(result.test_bytes_up, 0) << "a test client tells nobody of its data";
}

TEST(Atp, RatesCostTwoPassesEachWayOverTheHeldOutSamples) {
  ToyRun run;
  RoundLoop loop = run.loop(kShort);
  play(loop, 5);
  const Passes before = loop.totals().passes;
  static_cast<void>(loop.play_round());
  std::int64_t held_out = 0;
  for (std::uint32_t client = 0; client < 6; ++client) {
    held_out += static_cast<std::int64_t>(run.federation.shard(ClientId{client}, 5).held_out.size());
  }
  EXPECT_EQ(loop.totals().passes.forward - before.forward, 2 * held_out);
  EXPECT_EQ(loop.totals().passes.backward - before.backward, 2 * held_out);
}

TEST(Atp, RatesArePlainMeansWhateverTheClientsHold) {
  ToyRun run;
  const std::unique_ptr<Algorithm> algorithm = make_atp({});
  ServerContext server;
  server.model = run.model;
  server.initial = share(initialise(run.model, Rng(1)));
  algorithm->init(server);
  std::map<ClientId, Message> answers{{ClientId{0}, {{{"rates", Floats{1, 2}}}}},
                                      {ClientId{1}, {{{"rates", Floats{3, -4}}}}}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(rates_of(*algorithm), (Floats{2, -1}));
  std::map<ClientId, Message> nobody;
  algorithm->uplink(2, 0, nobody, seconds);
  EXPECT_EQ(rates_of(*algorithm), (Floats{2, -1}));
  for (const Floats& bad : {Floats{1}, Floats{1, std::numeric_limits<float>::infinity()}}) {
    std::map<ClientId, Message> broken{{ClientId{0}, {{{"rates", bad}}}}};
    expect_error(ErrorCode::invalid_data, "[atp] client 0's rates must", [&] {
      test::deliver(*algorithm, 2, 0, broken);
      return 0;
    });
  }
}

TEST(Atp, ResumesWhileItLearnsRates) {
  ToyRun run;
  RoundLoop whole = run.loop(kShort);
  test::play_all(whole);
  for (const int stop : {5, 6, 7}) {
    RoundLoop first = run.loop(kShort);
    play(first, stop);
    RoundLoop second = run.loop(kShort);
    second.load(first.save(), "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
    EXPECT_EQ(whole.totals().bytes_down, second.totals().bytes_down);
    EXPECT_EQ(whole.evaluate().accuracy, second.evaluate().accuracy);
  }
}

TEST(Atp, WorksWithFewClientsARound) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  ToyRun run(scenario);
  RoundLoop loop = run.loop(kShort);
  test::play_all(loop);
  EXPECT_NE(rates_of(loop.algorithm()), Floats(2));
}

TEST(Atp, EveryOptionActs) {
  ToyRun run;
  RoundLoop plain = run.loop(kShort);
  test::play_all(plain);
  const auto rates_with = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'atp'\n" + options);
    test::play_all(loop);
    return rates_of(loop.algorithm());
  };
  EXPECT_NE(rates_with("rate_rounds = 4\nbatch_size = 8\nrate_learning_rate = 2.0"), rates_of(plain.algorithm()));
  EXPECT_NE(rates_with("rate_rounds = 3\nbatch_size = 5\nrate_learning_rate = 2.0"), rates_of(plain.algorithm()));
  EXPECT_NE(rates_with("rate_rounds = 3\nbatch_size = 8\nrate_learning_rate = 1.0"), rates_of(plain.algorithm()));
  EXPECT_NE(rates_with("rate_rounds = 3\nbatch_size = 8\nrate_learning_rate = 2.0\nmomentum_reset = 'epoch'"),
            rates_of(plain.algorithm()));
  // The mode changes predictions, not rates.
  const auto bits = [&](const std::string& mode) {
    RoundLoop loop = run.loop("name = 'atp'\nrate_rounds = 3\nbatch_size = 8\nrate_learning_rate = 50.0\n" + mode);
    test::play_all(loop);
    StageSeconds seconds;
    test::ToyEngine engine(run.model);
    Trainer trainer(engine);
    const View data = run.federation.test(ClientId{0}, 0).data;
    TestContext context{ClientId{0}, data, nullptr, Rng(1), trainer, seconds};
    return loop.algorithm().predictor(TestPolicy::native, context)->predict(trainer, data);
  };
  EXPECT_NE(bits("mode = 'online'"), bits("mode = 'batch'"));
}

TEST(Atp, RefusesWhatWouldDoNothing) {
  ToyRun run;
  for (const std::string key : {"mode = 'online'", "batch_size = 8", "rate_learning_rate = 1.0"}) {
    expect_error(ErrorCode::invalid_config, "ignored with rate_rounds = 0",
                 [&] { return run.loop("name = 'atp'\nrate_rounds = 0\n" + key).rounds(); });
  }
  expect_error(ErrorCode::invalid_config, "batch_size",
               [&] { return run.loop("name = 'atp'\nbatch_size = 0").rounds(); });
}

TEST(Atp, RefusesDataWithSeveralLabels) {
  ServerContext server;
  server.model = lenet5({1, 28, 28}, 10);
  server.initial = share(initialise(server.model, Rng(1)));
  server.multi_label = true;
  expect_error(ErrorCode::unsupported, "[atp] follows the entropy over classes that exclude one another, got multi",
               [&] {
                 make_atp({})->init(server);
                 return 0;
               });
}

TEST(Atp, RunningStatisticsHaveRatesOfTheirOwn) {
  ScenarioOptions scenario = test::toy_scenario();
  ToyRun run(scenario, 1, [](const ModelSpec& model) { return make_engine(EngineKind::native, model); });
  run.model = {
      "norm", run.federation.shape(), 10, {Conv2d{"a", 3, 3, 1}, BatchNorm{"b"}, Relu{}, Flatten{}, Linear{"c", 10}}};
  RoundLoop loop = run.loop("name = 'atp'\nrate_rounds = 2\nrate_learning_rate = 1.0");
  test::play_all(loop);
  const ServedModel served = loop.algorithm().served()[0];
  const std::vector<Segment>& segments = served.model->layout().segments;
  ASSERT_EQ(served.profile.size(), segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    EXPECT_EQ(served.profile[i] == 0, segments[i].name == "b.num_batches_tracked") << segments[i].name;
  }
  EXPECT_TRUE(std::isfinite(loop.evaluate().accuracy));
}

TEST(Atp, CanStartFromTheModelsThatFeromaAssigns) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 9;
  ToyRun run(scenario);
  RoundLoop feroma = run.loop("name = 'feroma'");
  RoundLoop still = run.loop("name = 'atp'\nstart = 'feroma'\nrate_rounds = 0");
  const std::string bold =
      "name = 'atp'\nstart = 'feroma'\nrate_rounds = 3\nbatch_size = 8\nrate_learning_rate = 300.0\n";
  RoundLoop adapting = run.loop(bold);
  test::play_all(feroma);
  test::play_all(still);
  test::play_all(adapting);
  EXPECT_GT(feroma.algorithm().served().size(), 1U);
  EXPECT_EQ(test::served_bits(still.algorithm()), test::served_bits(feroma.algorithm()));
  EXPECT_EQ(test::served_bits(adapting.algorithm()), test::served_bits(feroma.algorithm()))
      << "rates leave models alone";
  const ResultRecord plain = feroma.evaluate();
  EXPECT_EQ(still.evaluate().accuracy, plain.accuracy);
  EXPECT_EQ(still.evaluate().accuracy_few_label, plain.accuracy_few_label);
  const ResultRecord adapted = adapting.evaluate();
  EXPECT_TRUE(adapted.accuracy_few_label.has_value());
  EXPECT_TRUE(adapted.accuracy != plain.accuracy || adapted.accuracy_few_label != plain.accuracy_few_label);
  RoundLoop first = run.loop(bold);
  play(first, 10);
  RoundLoop second = run.loop(bold);
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(second.evaluate().accuracy, adapted.accuracy);
}

}  // namespace
}  // namespace feroma
