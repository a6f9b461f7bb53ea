#include "feroma/algorithms/pfedme.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "feroma/drift/membership.h"
#include "tests/algorithms/one_client.h"
#include "tests/algorithms/slopes.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

constexpr FitOptions kOneBatch{1, 100000, 0.2, 0.9, MomentumReset::round};

PFedMeOptions options_with(double lambda, double personal_rate, double eta, int inner_steps) {
  PFedMeOptions options;
  options.lambda = lambda;
  options.personal_rate = personal_rate;
  options.eta = eta;
  options.inner_steps = inner_steps;
  return options;
}

TEST(PFedMe, InnerStepsFindTheProximalPointOfAQuadratic) {
  // min (a/2)(t - c)^2 + (lambda/2)(t - w)^2 is at (a c + lambda w) / (a + lambda); a = 2, c = 3, lambda = 4.
  OneClient client(make_pfedme(options_with(4, 0.1, 0.01, 200)), kOneBatch, test::make_quadratic(2, 3));
  const std::vector<float> w = bits_of(client.algorithm->served()[0].model);
  static_cast<void>(client.play());
  const std::vector<float> personal = bits_of(client.memory().model("personal"));
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(personal[i], (2 * 3 + 4 * w[i]) / (2 + 4), 1e-5);
  }
}

TEST(PFedMe, OuterStepDescendsTheMoreauEnvelope) {
  // F(w) = min_t (a/2)(t - c)^2 + (lambda/2)(t - w)^2, whose slope is taken from F itself by a finite difference.
  constexpr double kA = 2;
  constexpr double kC = 3;
  constexpr double kLambda = 4;
  constexpr double kEta = 0.05;
  const auto envelope = [&](double w) {
    const double t = (kA * kC + kLambda * w) / (kA + kLambda);
    return kA / 2 * (t - kC) * (t - kC) + kLambda / 2 * (t - w) * (t - w);
  };
  OneClient client(make_pfedme(options_with(kLambda, 0.1, kEta, 200)), kOneBatch, test::make_quadratic(2, 3));
  const std::vector<float> w = bits_of(client.algorithm->served()[0].model);
  const Message answer = client.play();
  const std::vector<float> moved = bits_of(answer.model("model"));
  for (std::size_t i = 0; i < w.size(); ++i) {
    const double at = static_cast<double>(w[i]);
    EXPECT_NEAR(moved[i], at - kEta * test::exact_slope(envelope, at), 1e-5);
  }
}

TEST(PFedMe, AStrongPullKeepsThePersonalModelAtTheSharedOne) {
  const auto distance = [](double lambda) {
    OneClient client(make_pfedme(options_with(lambda, 0.001, 0.0005, 20)));
    const std::vector<float> w = bits_of(client.algorithm->served()[0].model);
    static_cast<void>(client.play());
    const std::vector<float> personal = bits_of(client.memory().model("personal"));
    double sum = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      sum += std::abs(static_cast<double>(personal[i] - w[i]));
    }
    return sum;
  };
  EXPECT_LT(distance(1500), 0.2 * distance(1));
}

TEST(PFedMe, BetaZeroLeavesTheSharedModelAndBetaOneTakesTheMean) {
  PFedMeOptions options;
  options.beta = 0;
  OneClient still(make_pfedme(options));
  const auto before = test::served_bits(*still.algorithm);
  static_cast<void>(still.play());
  EXPECT_EQ(test::served_bits(*still.algorithm), before);
  OneClient moving(make_pfedme({}));
  const Message answer = moving.play();
  EXPECT_EQ(test::served_bits(*moving.algorithm), bits_of(answer.model("model")));
  options.beta = 0.5;
  OneClient half(make_pfedme(options));
  const Message other = half.play();
  EXPECT_NEAR(test::served_bits(*half.algorithm)[3], 0.5F * (before[3] + other.model("model")->values()[3]), 1e-6);
}

/// The personal model after two rounds of a client, and of one that lost its memory in between.
std::pair<std::vector<float>, std::vector<float>> kept_and_lost(const PFedMeOptions& options) {
  OneClient client(make_pfedme(options));
  static_cast<void>(client.play(1));
  static_cast<void>(client.play(2));
  OneClient forgetful(make_pfedme(options));
  static_cast<void>(forgetful.play(1));
  SimulatedPool fresh(forgetful.run.federation, forgetful.run.workers, Rng(42), forgetful.run.stop);
  const std::vector<ClientId> one{ClientId{0}};
  static_cast<void>(fresh.exchange(*forgetful.algorithm, 2, 0, one));
  return {bits_of(client.memory().model("personal")), bits_of(fresh.memories(one).at(ClientId{0})->model("personal"))};
}

TEST(PFedMe, ARoundStartsAtTheReceivedModelOrWhereThePersonalOneWas) {
  const auto [again, lost] = kept_and_lost({});
  EXPECT_EQ(again, lost);
  const auto [kept, forgotten] = kept_and_lost({.personal_start = PersonalStart::kept});
  EXPECT_NE(kept, forgotten);
  EXPECT_EQ(forgotten, lost) << "who has none starts at the received one";
}

/// Without a pull the shared model stays where it is, so that every round of a client is the first one again, on other
/// draws: what is left of a minibatch's steps is plain SGD from the received model.
TEST(PFedMe, WithoutAPullARoundIsPlainTrainingFromTheReceivedModel) {
  OneClient client(make_pfedme({.lambda = 0, .personal_rate = 0.2, .inner_steps = 1}));
  const ParametersPtr received = client.algorithm->served()[0].model;
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2}) {
    static_cast<void>(client.play(round));
    EXPECT_EQ(test::served_bits(*client.algorithm), bits_of(received));
    Parameters expected = received->clone();
    const Rng rng = Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train");
    trainer.fit(expected, client.run.federation.shard(ClientId{0}, round).train, {2, 16, 0.2, 0, MomentumReset::round},
                rng);
    EXPECT_EQ(bits_of(client.memory().model("personal")), bits_of(share(std::move(expected))));
  }
}

TEST(PFedMe, WhoIsNotSampledKeepsThePersonalModelOfItsLastRound) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'pfedme'");
  static_cast<void>(loop.play_round());
  const test::RememberedBits first = test::remembered_bits(loop);
  static_cast<void>(loop.play_round());
  test::RememberedBits second = test::remembered_bits(loop);
  const std::vector<ClientId> sampled = draw_participants(
      std::vector<ClientId>{ClientId{0}, ClientId{1}, ClientId{2}, ClientId{3}, ClientId{4}, ClientId{5}}, 0.5,
      Rng(static_cast<std::uint64_t>(scenario.seed)), 2);
  ASSERT_EQ(sampled.size(), 3U);
  for (const auto& [client, bits] : first) {
    const bool trained = std::find(sampled.begin(), sampled.end(), client) != sampled.end();
    EXPECT_EQ(second[client] == bits, !trained || bits.empty()) << to_index(client);
  }
}

TEST(PFedMe, ProxLocalAveragesPersonalModels) {
  PFedMeOptions options;
  options.variant = PFedMeVariant::prox_local;
  OneClient client(make_pfedme(options));
  const Message answer = client.play();
  EXPECT_EQ(bits_of(answer.model("model")), bits_of(client.memory().model("personal")));
  EXPECT_EQ(test::served_bits(*client.algorithm), bits_of(client.memory().model("personal")));
}

TEST(PFedMe, ProxLocalWithoutPullIsLocalTrainingForEver) {
  PFedMeOptions options;
  options.variant = PFedMeVariant::prox_local;
  options.personal_start = PersonalStart::kept;
  options.lambda = 0;
  options.personal_rate = 0.2;
  const FitOptions fit{2, 16, 0.05, 0.9, MomentumReset::round};
  OneClient client(make_pfedme(options), fit);
  Parameters expected = client.algorithm->served()[0].model->clone();
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  for (const Round round : {1, 2}) {
    static_cast<void>(client.play(round));
    const ClientShard shard = client.run.federation.shard(ClientId{0}, round);
    const Rng rng = Rng(42).derive("client", 0, static_cast<std::uint64_t>(round)).derive("train");
    trainer.fit(expected, shard.train, {2, 16, 0.2, 0, MomentumReset::round}, rng);
  }
  EXPECT_EQ(bits_of(client.memory().model("personal")), bits_of(share(std::move(expected))));
}

TEST(PFedMe, CostsOneModelEachWayAndFiveGradientsPerSample) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'pfedme'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 2 * 5 * loop.totals().samples_held);
  EXPECT_EQ(loop.totals().passes.forward, 2 * 5 * loop.totals().samples_held);
}

TEST(PFedMe, SendsALeNetAndNothingElse) {
  const ModelSpec lenet = lenet5({1, 28, 28}, 10);
  const std::unique_ptr<Algorithm> algorithm = make_pfedme({});
  ServerContext server;
  server.model = lenet;
  server.initial = share(initialise(lenet, Rng(1)));
  algorithm->init(server);
  EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).bytes(), 4 * 61706);
}

TEST(PFedMe, PersonalModelsLearnWhatOneModelCannot) {
  ToyRun run(test::lasting_concepts());
  RoundLoop shared = run.loop("name = 'fedavg'");
  test::play_all(shared);
  RoundLoop loop = run.loop("name = 'pfedme'\nlambda = 0.03\npersonal_rate = 1.0\neta = 1.0");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  ASSERT_TRUE(result.accuracy_known);
  EXPECT_GT(*result.accuracy_known, 80);
  EXPECT_GT(*result.accuracy_known, *shared.evaluate().accuracy_known + 10);
  EXPECT_TRUE(result.accuracy_personal);
  RoundLoop near =
      run.loop("name = 'pfedme'\nvariant = 'prox_local'\npersonal_start = 'kept'\nlambda = 0.01\npersonal_rate = 2.0");
  test::play_all(near);
  EXPECT_GT(*near.evaluate().accuracy_known, 80);
}

TEST(PFedMe, EveryOptionChangesSomething) {
  ToyRun run;
  const auto bits = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'pfedme'\n" + options);
    static_cast<void>(loop.play_round());
    static_cast<void>(loop.play_round());
    return test::served_bits(loop.algorithm());
  };
  const auto usual = bits("");
  for (const char* change : {"variant = 'prox_local'", "lambda = 3.0", "personal_rate = 0.02", "eta = 0.001",
                             "beta = 0.5", "weight_decay = 0.1", "inner_steps = 2", "personal_start = 'kept'"}) {
    EXPECT_NE(bits(change), usual) << change;
  }
}

TEST(PFedMe, RefusesStepsThatOvershootAndOptionsThatWouldBeIgnored) {
  ToyRun run;
  const auto refuses = [&](const std::string& options, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop("name = 'pfedme'\n" + options).rounds(); });
  };
  refuses("lambda = 30.0\npersonal_rate = 0.1\neta = 0.001", "personal_rate times lambda");
  refuses("lambda = 1.0\neta = 1.5", "eta times lambda");
  refuses("variant = 'prox_local'\neta = 0.01", "eta would be ignored");
  refuses("variant = 'prox_local'\nbeta = 0.5", "beta would be ignored");
  refuses("variant = 'prox_local'\ninner_steps = 2", "inner_steps would be ignored");
  refuses("inner_steps = 0", "inner_steps must be >= 1");
}

TEST(PFedMe, AnOuterStepLeavesBuffersAtTheMean) {
  const ModelSpec spec{"norm", {1, 2, 2}, 2, {Conv2d{"a", 2, 1, 0}, BatchNorm{"b"}, Flatten{}, Linear{"c", 2}}};
  PFedMeOptions options;
  options.beta = 0.5;
  const auto algorithm = make_pfedme(options);
  ServerContext server;
  server.model = spec;
  server.initial = share(initialise(spec, Rng(1)));
  algorithm->init(server);
  Parameters sent(make_layout(spec));
  std::fill(sent.values().begin(), sent.values().end(), 3.0F);
  test::deliver(*algorithm, 1, 0, {{ClientId{0}, {{{"model", share(std::move(sent))}, {"num_examples", Ints{4}}}}}});
  const ServedModel served = algorithm->served()[0];
  const std::vector<Segment>& segments = served.model->layout().segments;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const float before = server.initial->segment(i)[0];
    EXPECT_FLOAT_EQ(served.model->segment(i)[0], segments[i].kind == SegmentKind::buffer ? 3 : 1.5F + 0.5F * before)
        << segments[i].name;
  }
}

TEST(PFedMe, AnEmptyRoundKeepsTheModelAndABrokenAnswerIsRefused) {
  OneClient client(make_pfedme({}));
  const auto before = test::served_bits(*client.algorithm);
  std::map<ClientId, Message> answers;
  StageSeconds seconds;
  client.algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(test::served_bits(*client.algorithm), before);
  Parameters broken = client.algorithm->served()[0].model->clone();
  broken.values()[0] = std::numeric_limits<float>::quiet_NaN();
  answers[ClientId{0}] = {{{"model", share(std::move(broken))}, {"num_examples", Ints{5}}}};
  expect_error(ErrorCode::invalid_data, "[pfedme] client 0's model must be finite", [&] {
    test::deliver(*client.algorithm, 1, 0, answers);
    return 0;
  });
}

TEST(PFedMe, PersonalModelsAreTheSameAfterAResume) {
  ToyRun run(test::concept_scenario());
  RoundLoop whole = run.loop("name = 'pfedme'");
  test::play_all(whole);
  RoundLoop first = run.loop("name = 'pfedme'");
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  RoundLoop second = run.loop("name = 'pfedme'");
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(second.save().size(), whole.save().size());
  EXPECT_EQ(*whole.evaluate().accuracy_known, *second.evaluate().accuracy_known);
}

}  // namespace
}  // namespace feroma
