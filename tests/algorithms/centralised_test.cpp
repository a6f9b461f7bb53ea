#include "feroma/algorithms/centralised.h"

#include <gtest/gtest.h>

#include "algorithms/join_views.h"
#include "tests/algorithms/one_client.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

/// What ToyRun trains with.
const FitOptions kToyFit{2, 16, 0.2, 0.9, MomentumReset::round};

/// Everybody's training data of the first round, in the clients' order.
View union_of(const ToyRun& run) {
  std::vector<View> views;
  for (int client = 0; client < run.federation.options().clients; ++client) {
    views.push_back(run.federation.shard(static_cast<ClientId>(client), 1).train);
  }
  return join_views(views);
}

TEST(Centralised, WithOneClientIsLocalTraining) {
  OneClient client(make_centralised({}), kToyFit);
  Parameters expected = client.algorithm->served()[0].model->clone();
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2}) {
    trainer.fit(expected, client.run.federation.shard(ClientId{0}, round).train, kToyFit,
                Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train"));
    for (int phase = 0; phase < client.algorithm->phases(round); ++phase) {
      test::deliver(*client.algorithm, round, phase,
                    {{ClientId{0}, std::get<ClientAnswer>(client.step(round, phase).answer).message}});
    }
    EXPECT_EQ(test::served_bits(*client.algorithm), bits_of(share(expected.clone()))) << "round " << round;
  }
}

TEST(Centralised, IsTrainingOnTheUnionWithTheTrainingsOwnBatchesAndEpochs) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'centralised'");
  Parameters expected = loop.algorithm().served()[0].model->clone();
  static_cast<void>(loop.play_round());
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  const Rng rng(static_cast<std::uint64_t>(run.federation.options().seed));
  trainer.fit(expected, union_of(run), kToyFit, rng.derive("client", 0, 1).derive("train"));
  EXPECT_EQ(test::served_bits(loop.algorithm()), bits_of(share(std::move(expected))));
}

TEST(Centralised, CostsTheSamplesBothWaysAndItsEpochsOverAllOfThem) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'centralised'");
  const RoundRecord record = loop.play_round();
  const auto samples = static_cast<std::int64_t>(union_of(run).size());
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  const std::int64_t sample_bytes = samples * (4 * run.federation.shape().size() + 8);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes + sample_bytes);
  EXPECT_EQ(record.bytes_up, 6 * 8 + sample_bytes + model_bytes);
  EXPECT_EQ(loop.totals().passes.backward, 2 * samples);
  EXPECT_EQ(loop.totals().passes.forward, 2 * samples);
  EXPECT_EQ(record.clients.size(), 6U);
}

TEST(Centralised, LearnsATaskThatIsTheSameForEverybody) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rotations = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'centralised'");
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
  EXPECT_NE(bits("learning_rate = 0.1"), bits(""));
  EXPECT_NE(bits("momentum_reset = 'epoch'"), bits(""));
}

TEST(Centralised, AClientOnAnotherMachineKeepsItsData) {
  OneClient client(make_centralised({}));  // whose own copy of the method has never seen an answer
  EXPECT_TRUE(std::holds_alternative<ClientAnswer>(client.step(1, 0).answer));
  expect_error(ErrorCode::unsupported, "simulations only", [&] { return client.step(1, 1).bytes_down; });
}

TEST(Centralised, ARoundWhoseHostDropsOutChangesNothing) {
  OneClient client(make_centralised({}));
  const auto before = test::served_bits(*client.algorithm);
  for (const int phase : {0, 1}) {
    test::deliver(*client.algorithm, 1, phase,
                  {{ClientId{0}, std::get<ClientAnswer>(client.step(1, phase).answer).message}});
  }
  test::deliver(*client.algorithm, 1, 2, {{ClientId{1}, Message{}}});
  EXPECT_EQ(test::served_bits(*client.algorithm), before);
}

TEST(Centralised, RefusesSamplesThatDoNotFitTheirCount) {
  OneClient client(make_centralised({}));
  test::deliver(*client.algorithm, 1, 0, {{ClientId{0}, Message{{{"num_examples", Ints{2}}}}}});
  const auto refuses = [&](std::size_t values, Ints labels, std::string_view part) {
    const Message answer{{{"inputs", Floats(values)}, {"labels", std::move(labels)}}};
    expect_error(ErrorCode::invalid_data, part, [&] {
      test::deliver(*client.algorithm, 1, 1, {{ClientId{0}, answer}});
      return 0;
    });
  };
  const auto size = static_cast<std::size_t>(client.run.federation.shape().size());
  refuses(size, {0, 1}, "inputs must have");
  refuses(2 * size, {0}, "labels must have 2 values");
  refuses(2 * size, {0, 10}, "labels must be");
}

// Several labels a sample: their targets travel in place of labels, and one client's union is its own data again.
TEST(Centralised, TrainsOnTargetsWhereSamplesHaveSeveralLabels) {
  Samples samples = test::toy_samples(40, 3, Rng(5));
  for (std::size_t i = 0; i < samples.labels.size(); ++i) {
    for (std::size_t label = 0; label < 3; ++label) {
      samples.targets.push_back((i + label) % 2 == 0 ? 1 : 0);
    }
    samples.labels[i] = 0;
  }
  const std::vector<Recipe> recipes{{{Transform{}}, {0}}};
  View view{&samples, recipes, samples.shape, {}};
  for (std::uint32_t i = 0; i < 40; ++i) {
    view.items.push_back({i, 0});
  }
  ServerContext server;
  server.model = test::toy_model(samples.shape, 3);
  server.initial = share(initialise(server.model, Rng(1)));
  server.fit = kToyFit;
  server.multi_label = true;
  const std::unique_ptr<Algorithm> algorithm = make_centralised({});
  algorithm->init(server);
  const std::unique_ptr<Engine> engine = make_engine(EngineKind::native, server.model);
  Trainer trainer(*engine);
  Message state;
  ClientReport report;
  StageSeconds seconds;
  for (const int phase : {0, 1, 2}) {
    ClientContext context{ClientId{0}, 1, 0, view, view, state, Rng(3), trainer, report, seconds};
    const Message received = algorithm->downlink(1, phase, ClientId{0});
    test::deliver(*algorithm, 1, phase, {{ClientId{0}, algorithm->client_step(1, phase, context, received)}});
  }
  Parameters expected = server.initial->clone();
  trainer.fit(expected, view, kToyFit, Rng(3).derive("train"));
  EXPECT_EQ(test::served_bits(*algorithm), bits_of(share(std::move(expected))));
}

}  // namespace
}  // namespace feroma
