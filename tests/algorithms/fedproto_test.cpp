#include "feroma/algorithms/fedproto.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/prototypes.h"
#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

/// Something trainable below the latent, and smooth.
ModelSpec small_model() { return {"small", {3, 4, 4}, 10, {Flatten{}, Linear{"fc1", 12}, Elu{}, Linear{"fc2", 10}}}; }

/// A few clients on the native engine, asked by hand.
class SmallRun {
 public:
  explicit SmallRun(const FedProtoOptions& options, FitOptions fit = {2, 16, 0.2, 0.9, MomentumReset::round})
      : federation(test::toy_dataset(), test::toy_scenario()),
        workers(1, [] { return make_engine(EngineKind::native, small_model()); }),
        pool(federation, workers, Rng(42), stop),
        algorithm(make_fedproto(options)),
        engine(make_engine(EngineKind::native, small_model())),
        trainer(*engine) {
    ServerContext server;
    server.model = small_model();
    server.initial = share(initialise(server.model, Rng(42)));
    server.fit = fit;
    initial = server.initial;
    algorithm->init(server);
  }

  std::map<ClientId, Message> ask(Round round, const std::vector<ClientId>& clients) {
    std::map<ClientId, Message> answers;
    for (auto& [client, outcome] : pool.exchange(*algorithm, round, 0, clients)) {
      answers[client] = std::get<ClientAnswer>(outcome.answer).message;
    }
    return answers;
  }
  void play(Round round, const std::vector<ClientId>& clients) {
    auto answers = ask(round, clients);
    StageSeconds seconds;
    algorithm->uplink(round, 0, answers, seconds);
  }
  [[nodiscard]] ParametersPtr own(ClientId client) const {
    return pool.memories(std::vector{client}).at(client)->model("model");
  }

  Federation federation;
  std::atomic<bool> stop = false;
  Workers workers;
  SimulatedPool pool;
  std::unique_ptr<Algorithm> algorithm;
  ParametersPtr initial;
  std::unique_ptr<Engine> engine;
  Trainer trainer;
};

std::vector<float> bits(const Parameters& params) { return {params.values().begin(), params.values().end()}; }

TEST(FedProto, ZeroLambdaTrainsEveryClientAlone) {
  FedProtoOptions options;
  options.lambda = 0;
  SmallRun run(options);
  Parameters alone = run.initial->clone();
  for (Round round = 1; round <= 3; ++round) {
    run.play(round, {ClientId{0}, ClientId{1}});
    const FitOptions fit{2, 16, 0.2, 0.9, MomentumReset::round};
    run.trainer.fit(alone, run.federation.shard(ClientId{1}, round).train, fit,
                    Rng(42).derive("client", 1, static_cast<std::uint64_t>(round)).derive("train"));
  }
  EXPECT_EQ(bits(*run.own(ClientId{1})), bits(alone));
}

TEST(FedProto, ATinyLambdaTrainsNearlyAlone) {
  for (const MomentumReset reset : {MomentumReset::round, MomentumReset::epoch}) {
    const FitOptions fit{2, 16, 0.2, 0.9, reset};
    FedProtoOptions none;
    none.lambda = 0;
    FedProtoOptions tiny;
    tiny.lambda = 1e-30;  // goes through the steps with prototypes, which pull with nothing
    SmallRun alone(none, fit);
    SmallRun near(tiny, fit);
    for (Round round = 1; round <= 2; ++round) {
      alone.play(round, {ClientId{0}, ClientId{1}});
      near.play(round, {ClientId{0}, ClientId{1}});
    }
    EXPECT_EQ(bits(*alone.own(ClientId{0})), bits(*near.own(ClientId{0})));
  }
}

TEST(FedProto, OneClientsPrototypesAreItsClassMeans) {
  SmallRun run({});
  run.play(1, {ClientId{2}});
  const View train = run.federation.shard(ClientId{2}, 1).train;
  const ParametersPtr own = run.own(ClientId{2});
  std::vector<double> sums(10 * 12);
  std::vector<double> counts(10);
  run.trainer.latents(*own, train, Latent::penultimate,
                      [&](std::span<const float> rows, int width, const Batch& batch) {
                        ASSERT_EQ(width, 12);
                        for (std::size_t i = 0; i < batch.labels.size(); ++i) {
                          const auto label = static_cast<std::size_t>(batch.labels[i]);
                          counts[label] += 1;
                          for (std::size_t j = 0; j < 12; ++j) {
                            sums[label * 12 + j] += static_cast<double>(rows[i * 12 + j]);
                          }
                        }
                      });
  const Message down = run.algorithm->downlink(2, 0, ClientId{0});
  ASSERT_EQ(down.ints("classes").size(), 10U);
  for (std::size_t label = 0; label < 10; ++label) {
    EXPECT_NEAR(down.floats("prototypes")[label * 12 + 5], sums[label * 12 + 5] / counts[label], 1e-5);
  }
}

// One epoch of one batch sees the latents of the model it starts from; two epochs of one batch, in the second, those of
// the model after one step.
TEST(FedProto, PrototypesMayBeMeansOfWhatTheLastEpochSaw) {
  FedProtoOptions options;
  options.source = PrototypeSource::last_epoch;
  for (const int epochs : {1, 2}) {
    const FitOptions fit{epochs, 100000, 0.5, 0, MomentumReset::round};
    SmallRun run(options, fit);
    const View train = run.federation.shard(ClientId{2}, 1).train;
    Parameters last_seen = run.initial->clone();
    FitOptions before = fit;
    before.local_epochs = epochs - 1;
    run.trainer.fit(last_seen, train, before, Rng(42).derive("client", 2, 1).derive("train"));
    const ClassMeans expected = class_means(run.trainer, last_seen, train, Latent::penultimate, 10, 12);
    const Message answer = run.ask(1, {ClientId{2}}).at(ClientId{2});
    EXPECT_EQ(answer.ints("classes"), expected.means.labels());
    EXPECT_EQ(answer.ints("counts"), expected.counts);
    const Floats rows = expected.means.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      EXPECT_NEAR(answer.floats("prototypes")[i], rows[i], 1e-4) << epochs << " epochs, value " << i;
    }
    SmallRun usual({}, fit);
    EXPECT_NE(usual.ask(1, {ClientId{2}}).at(ClientId{2}).floats("prototypes"), answer.floats("prototypes"));
    EXPECT_EQ(bits(*usual.own(ClientId{2})), bits(*run.own(ClientId{2}))) << "looking on changes no training";
  }
}

TEST(FedProto, TheStepIsTheGradientOfBothTerms) {
  // One step over all data without momentum: what moved, over the learning rate, is the gradient.
  const FitOptions once{1, 100000, 0.01, 0, MomentumReset::round};
  FedProtoOptions options;
  options.lambda = 3;
  SmallRun run(options, once);
  run.play(1, {ClientId{0}, ClientId{1}});
  const ParametersPtr before = run.own(ClientId{0});
  const Message down = run.algorithm->downlink(2, 0, ClientId{0});
  const Prototypes shared = Prototypes::read(10, 12, down.floats("prototypes"), down.ints("classes"), "test");
  run.play(2, {ClientId{0}, ClientId{1}});
  const ParametersPtr after = run.own(ClientId{0});
  const View train = run.federation.shard(ClientId{0}, 2).train;
  const auto objective = [&](const Parameters& params) {
    double sum = run.trainer.evaluate(params, train).loss();
    run.trainer.latents(params, train, Latent::penultimate, [&](std::span<const float> rows, int, const Batch& batch) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const double away = static_cast<double>(rows[i]) - static_cast<double>(shared.of(batch.labels[i / 12])[i % 12]);
        sum += 3.0 * away * away / (12.0 * static_cast<double>(train.size()));
      }
    });
    return sum;
  };
  for (const std::size_t place : {0U, 5U, 37U, 300U, 560U, 580U, 600U, 700U}) {
    constexpr float kStep = 0.02F;
    Parameters more = before->clone();
    Parameters less = before->clone();
    more.values()[place] += kStep;
    less.values()[place] -= kStep;
    const double slope = (objective(more) - objective(less)) / (2.0 * static_cast<double>(kStep));
    const double moved = (static_cast<double>(before->values()[place]) - static_cast<double>(after->values()[place]));
    EXPECT_NEAR(moved / 0.01, slope, 0.01 * std::abs(slope) + 1e-4) << place;
  }
}

TEST(FedProto, ALargeLambdaDrawsLatentsTogether) {
  const auto spread = [](double lambda) {
    FedProtoOptions options;
    options.lambda = lambda;
    SmallRun run(options);
    const std::vector<ClientId> clients{ClientId{0}, ClientId{1}, ClientId{2}};
    for (Round round = 1; round <= 5; ++round) {
      run.play(round, clients);
    }
    const Message down = run.algorithm->downlink(6, 0, ClientId{0});
    const Prototypes shared = Prototypes::read(10, 12, down.floats("prototypes"), down.ints("classes"), "test");
    const View train = run.federation.shard(ClientId{0}, 5).train;
    double sum = 0;
    run.trainer.latents(*run.own(ClientId{0}), train, Latent::penultimate,
                        [&](std::span<const float> rows, int, const Batch& batch) {
                          for (std::size_t i = 0; i < rows.size(); ++i) {
                            const float away = rows[i] - shared.of(batch.labels[i / 12])[i % 12];
                            sum += static_cast<double>(away * away);
                          }
                        });
    return sum;
  };
  EXPECT_LT(spread(5), 0.9 * spread(0));
}

Message answer(const Floats& rows, const Ints& classes, const Ints& counts) {
  return {{{"prototypes", rows}, {"classes", classes}, {"counts", counts}}};
}

/// A server of two-dimensional latents and three classes.
std::unique_ptr<Algorithm> tiny_server(const FedProtoOptions& options = {}) {
  auto algorithm = make_fedproto(options);
  ServerContext server;
  server.model = {"tiny", {1, 1, 2}, 3, {Flatten{}, Linear{"fc", 3}}};
  server.initial = share(initialise(server.model, Rng(1)));
  algorithm->init(server);
  return algorithm;
}
Floats after(Algorithm& algorithm, std::map<ClientId, Message> answers) {
  test::deliver(algorithm, 1, 0, std::move(answers));
  return algorithm.downlink(2, 0, ClientId{0}).floats("prototypes");
}

TEST(FedProto, PrototypesAreMeansOverTheClientsThatHoldTheClass) {
  const Message first = answer({1, 2, 5, 6}, {0, 2}, {30, 4});
  const Message second = answer({5, 10}, {0}, {10});
  EXPECT_EQ(after(*tiny_server(), {{ClientId{0}, first}, {ClientId{1}, second}}), (Floats{2, 4, 5, 6}));
  EXPECT_EQ(after(*tiny_server(), {{ClientId{0}, second}, {ClientId{1}, first}}), (Floats{2, 4, 5, 6}));
  FedProtoOptions uniform;
  uniform.weights = PrototypeWeights::uniform;
  EXPECT_EQ(after(*tiny_server(uniform), {{ClientId{0}, first}, {ClientId{1}, second}}), (Floats{3, 6, 5, 6}));
}

TEST(FedProto, AClassThatNobodyHoldsKeepsItsPrototype) {
  const auto server = tiny_server();
  EXPECT_TRUE(after(*server, {}).empty());
  static_cast<void>(after(*server, {{ClientId{0}, answer({1, 2, 3, 4}, {0, 1}, {1, 1})}}));
  EXPECT_EQ(after(*server, {{ClientId{0}, answer({9, 9}, {1}, {1})}}), (Floats{1, 2, 9, 9}));
  EXPECT_EQ(after(*server, {}), (Floats{1, 2, 9, 9}));
  EXPECT_EQ(server->downlink(2, 0, ClientId{0}).ints("classes"), (Ints{0, 1}));
}

// The latent of the tiny model is its input, which no training moves: prototypes are the means of the values below.
TEST(FedProto, SwappedLabelsSwapPrototypes) {
  Samples samples;
  samples.shape = {1, 1, 2};
  samples.values = {1, 2, 3, 4, 5, 6, 10, 20, 7, 8};
  samples.labels = {0, 0, 0, 1, 2};
  const std::vector<Transform> untouched(3);
  const std::vector<Recipe> recipes{{untouched, {0, 1, 2}}, {untouched, {1, 0, 2}}};
  const auto answer_of = [&](std::uint32_t recipe) {
    const View view{
        &samples, recipes, samples.shape, {{0, recipe}, {1, recipe}, {2, recipe}, {3, recipe}, {4, recipe}}};
    test::ToyEngine engine(test::toy_model(samples.shape, 3));
    Trainer trainer(engine);
    Message state;
    ClientReport report;
    StageSeconds seconds;
    ClientContext context{ClientId{0}, 1, 0, view, view, state, Rng(1), trainer, report, seconds};
    const auto algorithm = tiny_server();
    return algorithm->client_step(1, 0, context, algorithm->downlink(1, 0, ClientId{0}));
  };
  EXPECT_EQ(after(*tiny_server(), {{ClientId{0}, answer_of(0)}}), (Floats{3, 4, 10, 20, 7, 8}));
  EXPECT_EQ(after(*tiny_server(), {{ClientId{0}, answer_of(1)}}), (Floats{10, 20, 3, 4, 7, 8}));
  // Both clients together: classes 0 and 1 become one, (3 * 3 + 1 * 10) / 4 and (3 * 4 + 1 * 20) / 4.
  EXPECT_EQ(after(*tiny_server(), {{ClientId{0}, answer_of(0)}, {ClientId{1}, answer_of(1)}}),
            (Floats{4.75F, 8, 4.75F, 8, 7, 8}));
}

TEST(FedProto, RefusesAnswersThatDoNotFit) {
  for (const Message& bad :
       {answer({1, 2, 3}, {0}, {1}), answer({1, 2}, {3}, {1}), answer({1, 2}, {-1}, {1}), answer({1, 2}, {0}, {0}),
        answer({1, 2}, {0}, {1, 1}), answer({1, 2, 3, 4}, {2, 2}, {1, 1}),
        answer({1, std::numeric_limits<float>::quiet_NaN()}, {0}, {1})}) {
    expect_error(ErrorCode::invalid_data, "[fedproto]", [&] {
      return after(*tiny_server(), {{ClientId{0}, bad}}).size();
    });
  }
}

TEST(FedProto, LeNet5Shares840Floats) {
  const auto algorithm = make_fedproto({});
  ServerContext server;
  server.model = lenet5({1, 28, 28}, 10);
  server.initial = share(initialise(server.model, Rng(1)));
  algorithm->init(server);
  std::map<ClientId, Message> answers{
      {ClientId{0}, answer(Floats(840, 0.5F), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, Ints(10, 6))}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{0}).bytes(), 4 * 840 + 8 * 10);  // and which class each row is of
}

TEST(FedProto, RefusesMultiLabelDataBeforeARunBegins) {
  const auto algorithm = make_fedproto({});
  ServerContext server;
  server.model = small_model();
  server.initial = share(initialise(server.model, Rng(1)));
  server.multi_label = true;
  expect_error(ErrorCode::unsupported, "[fedproto]", [&] {
    algorithm->init(server);
    return 0;
  });
}

TEST(FedProto, CostsWhatFedAvgCostsAndOneForwardPassForPrototypes) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'fedproto'");
  static_cast<void>(loop.play_round());
  const std::int64_t held = loop.totals().samples_held;
  EXPECT_EQ(loop.totals().passes.backward, 2 * held);  // without prototypes: two epochs, then the class means
  EXPECT_EQ(loop.totals().passes.forward, 3 * held);
  static_cast<void>(loop.play_round());
  const std::int64_t second = loop.totals().samples_held - held;
  EXPECT_EQ(loop.totals().passes.backward, 2 * (held + second));
  EXPECT_EQ(loop.totals().passes.forward, 3 * (held + second));  // the latents come from the training pass itself
}

TEST(FedProto, EveryClientKeepsItsOwnConcept) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.shift = Shift::concept_label;
  scenario.level = Level::high;
  scenario.drifts = 1;
  ToyRun run(scenario);
  RoundLoop own = run.loop("name = 'fedproto'\npredict = 'head'\nlambda = 0.1");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(own);
  test::play_all(fedavg);
  const ResultRecord result = own.evaluate();
  ASSERT_TRUE(result.accuracy_known);
  ASSERT_TRUE(result.accuracy_personal);
  EXPECT_GT(*result.accuracy_known, *fedavg.evaluate().accuracy_known + 10);
  EXPECT_EQ(result.accuracy, *result.accuracy_personal);
}

TEST(FedProto, ResumesToTheSameModelsAndPrototypes) {
  ToyRun run;
  const std::string options = "name = 'fedproto'";
  RoundLoop whole = run.loop(options);
  test::play_all(whole);
  RoundLoop first = run.loop(options);
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  RoundLoop second = run.loop(options);
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  const auto shared = [](const RoundLoop& loop) {
    return loop.algorithm().downlink(9, 0, ClientId{0}).floats("prototypes");
  };
  EXPECT_EQ(shared(whole), shared(second));
  EXPECT_EQ(whole.evaluate().accuracy, second.evaluate().accuracy);
  EXPECT_EQ(*whole.evaluate().accuracy_known, *second.evaluate().accuracy_known);
}

TEST(FedProto, WorksWithFewClientsARoundAndNewcomers) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'fedproto'");
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy, 0);
}

TEST(FedProto, EveryOptionActs) {
  const auto trained = [](const FedProtoOptions& options) {
    SmallRun run(options);
    for (Round round = 1; round <= 3; ++round) {
      run.play(round, {ClientId{0}, ClientId{1}});
    }
    return bits(*run.own(ClientId{0}));
  };
  const std::vector<float> plain = trained({});
  FedProtoOptions lambda;
  lambda.lambda = 2;
  EXPECT_NE(trained(lambda), plain);
  FedProtoOptions momentum;
  momentum.momentum_reset = MomentumChoice::epoch;
  EXPECT_NE(trained(momentum), plain);
  FedProtoOptions flatten;
  flatten.latent = Latent::flatten;  // the input itself, which no model moves
  EXPECT_NE(trained(flatten), plain);
  ToyRun run;
  RoundLoop nearest = run.loop("name = 'fedproto'\npredict = 'nearest'");
  RoundLoop head = run.loop("name = 'fedproto'\npredict = 'head'");
  test::play_all(nearest);
  test::play_all(head);
  EXPECT_NE(nearest.evaluate().accuracy, head.evaluate().accuracy);
}

}  // namespace
}  // namespace feroma
