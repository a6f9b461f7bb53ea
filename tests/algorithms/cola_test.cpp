#include "feroma/algorithms/cola.h"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/cola_agents.h"
#include "feroma/algorithms/test_time.h"
#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

/// Two channels with a factor and an offset each.
class MixtureTest : public testing::Test {
 protected:
  MixtureTest() : model{"tiny", {1, 1, 2}, 2, {Flatten{}, Linear{"fc", 2}}}, channels(*make_layout(model)) {}

  static void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      EXPECT_NEAR(a[i], b[i], 1e-6);
    }
  }

  ModelSpec model;
  ChannelAffine channels;
  ColaOptions options;
};

TEST_F(MixtureTest, BeginsAtTheSource) {
  const VectorMixture mixture(channels);
  EXPECT_EQ(mixture.values(), channels.identity());
  EXPECT_EQ(mixture.shares(), std::vector<double>{1});
}

TEST_F(MixtureTest, VectorsThatComeOrGoLeaveTheValuesAlone) {
  VectorMixture mixture(channels);
  mixture.step(std::vector<float>{3, -2, 1, 5}, options);
  const std::vector<float> before = mixture.values();
  EXPECT_NE(before, channels.identity());
  mixture.add({2, 0, -1, 4}, 0.7);
  expect_near(mixture.values(), before);
  mixture.add({0, 5, 1, 1}, -2);
  expect_near(mixture.values(), before);
  mixture.evict();
  EXPECT_EQ(mixture.size(), 2U);
  expect_near(mixture.values(), before);
  mixture.evict();
  mixture.evict();  // the source stays
  EXPECT_EQ(mixture.size(), 1U);
  expect_near(mixture.values(), before);
}

TEST_F(MixtureTest, TheLightestVectorGoesFirst) {
  VectorMixture mixture(channels);
  mixture.add({2, 0, -1, 4}, 3);
  mixture.add({0, 5, 1, 1}, -4);  // lighter than the source, which is not asked
  const double heavy = mixture.shares()[1];
  mixture.evict();
  EXPECT_GT(mixture.shares()[1], 0.9);
  EXPECT_NEAR(mixture.shares()[1], heavy, 0.01);
}

// Alone the source has all of the mixture whatever its weight; what became of that shows when the next vector comes.
TEST_F(MixtureTest, WeightsStayWhileTheSourceIsAlone) {
  ColaOptions only_weights;
  only_weights.offset_learning_rate = 0;
  only_weights.weight_decay = 0.9;
  std::vector<float> vector = channels.identity();
  vector[1] += 1;
  const auto shares_after = [&](int steps_alone) {
    VectorMixture mixture(channels);
    mixture.add(vector, 0);
    mixture.step(std::vector<float>{0, 2, 0, 0}, only_weights);  // the source gains
    mixture.evict();
    for (int i = 0; i < steps_alone; ++i) {
      mixture.step(std::vector<float>{1, 1, 1, 1}, only_weights);
    }
    mixture.add(vector, 0);
    return mixture.shares();
  };
  EXPECT_GT(shares_after(0)[0], 0.51);
  EXPECT_EQ(shares_after(20), shares_after(0));
}

TEST_F(MixtureTest, WeightsStepAgainstTheSlope) {
  // A vector that lies along the slope makes things worse, so its share falls; one against it gains.
  ColaOptions only_weights;
  only_weights.offset_learning_rate = 0;
  for (const float side : {1.0F, -1.0F}) {
    VectorMixture mixture(channels);
    std::vector<float> vector = channels.identity();
    vector[1] += side;
    mixture.add(vector, 0);
    EXPECT_NEAR(mixture.shares()[1], 0.5, 1e-9);
    mixture.step(std::vector<float>{0, 2, 0, 0}, only_weights);
    // Source and vector move by the learning rate 0.1 in opposite directions; the decay of zero is zero. The slope in
    // the scale is zero, since both weights are.
    EXPECT_NEAR(mixture.shares()[1], 1 / (1 + std::exp(static_cast<double>(side) * 0.2)), 1e-6);
  }
}

TEST_F(MixtureTest, ValuesFollowTheSlopeByTheOffset) {
  VectorMixture mixture(channels);
  mixture.step(std::vector<float>{1, 0, 0, -1}, options);
  mixture.step(std::vector<float>{1, 0, 0, -1}, options);
  // 0.001 * (1 + 1.9)
  expect_near(mixture.values(), {1 - 0.0029F, 1, 0, 0.0029F});
}

TEST_F(MixtureTest, ALargeOffsetEarnsALargeWeight) {
  VectorMixture mixture(channels);
  EXPECT_EQ(mixture.weight_of_own(), 0) << "as large as the source's";
  ColaOptions fast;
  fast.offset_learning_rate = 1;
  mixture.step(std::vector<float>{0.4F, 0, 0, 0}, fast);
  // Mean magnitude 0.2 of one layer's factors, 20 times what is large: ln(1 * 19).
  EXPECT_NEAR(mixture.weight_of_own(), std::log(19.0), 1e-5);
  mixture.step(std::vector<float>{1e7F, 0, 0, 0}, fast);
  EXPECT_EQ(mixture.weight_of_own(), 10);
}

TEST(SampleChoice, TakesConfidentSamplesThatAreNotSaidAnyway) {
  SampleChoice choice(0.4, 0.4);
  // Certain, undecided, fairly certain of another class; ln 3 * 0.4 = 0.439.
  const std::vector<float> first{1, 0, 0, 0.4F, 0.3F, 0.3F, 0, 0.95F, 0.05F};
  const std::vector<float> weights = choice.weights(first, 3);
  const double limit = 0.4 * std::log(3.0);
  const double entropy = -0.95 * std::log(0.95) - 0.05 * std::log(0.05);
  EXPECT_EQ(weights[1], 0);
  EXPECT_NEAR(weights[0], std::exp(limit) * 3 / 2, 1e-5);
  EXPECT_NEAR(weights[2], std::exp(limit - entropy) * 3 / 2, 1e-5);
  // Now the mean prediction is about classes 0 and 1: the third class is news, the first is not.
  const std::vector<float> next = choice.weights(std::vector<float>{1, 0, 0, 0, 0, 1}, 3);
  EXPECT_EQ(next[0], 0);
  EXPECT_GT(next[1], 0);
  EXPECT_EQ(choice.weights(std::vector<float>{0.4F, 0.3F, 0.3F}, 3), std::vector<float>{0});
}

TEST(FollowerWeights, SumToOneAndPreferTheNearest) {
  const std::vector<DomainVector> vectors{{{1}, {{0}, {1}}}, {{1}, {{3}, {1}}}, {{1}, {{1}, {1}}}};
  const std::vector<double> near = follower_weights(vectors, {{3}, {1}}, 5);
  EXPECT_NEAR(near[0] + near[1] + near[2], 1, 1e-12);
  EXPECT_GT(near[1], 0.999);
  const std::vector<double> between = follower_weights(vectors, {{2}, {1}}, 5);
  EXPECT_NEAR(between[1], between[2], 1e-12);
  EXPECT_GT(between[1], between[0]);
}

/// Plays FedAvg's rounds and gives back test client 0's native predictions.
std::vector<float> served(ToyRun& run, const std::string& options, Round rounds = 5) {
  RoundLoop loop = run.loop(options);
  while (loop.finished_rounds() < rounds) {
    static_cast<void>(loop.play_round());
  }
  StageSeconds seconds;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  Together together = serve_together(loop.algorithm(), kTestPolicies, run.federation, 0, trainer, Rng(1), {}, seconds);
  const View data = run.federation.test(ClientId{0}, 0).data;
  auto predictor = together.take(TestPolicy::native, ClientId{0});
  if (!predictor) {
    TestContext context{ClientId{0}, data, nullptr, Rng(1), trainer, seconds};
    predictor = loop.algorithm().predictor(TestPolicy::native, context);
  }
  return predictor->predict(trainer, data);
}

/// Toy clients have some 60 test samples and predictions that are far from certain.
const std::string kToy =
    "name = 'cola'\nbatch_size = 16\nsmallest_batch = 16\nentropy_margin = 1.0\nredundancy_margin = 1.01\n"
    "offset_learning_rate = 0.05\n";

TEST(Cola, StandingStillIsFedAvgWhateverTheRole) {
  ToyRun run;
  const std::vector<float> fedavg = served(run, "name = 'fedavg'");
  for (const std::string role : {"role = 'principal'", "role = 'follower'"}) {
    EXPECT_EQ(served(run, "name = 'cola'\nbatch_size = 16\nexchange_batches = 1\noffset_learning_rate = 0.0\n" + role),
              fedavg);
  }
}

TEST(Cola, StandingStillOnFeromasModelsIsFeroma) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 9;
  ToyRun run(scenario);
  const std::string still = "name = 'cola'\nstart = 'feroma'\nbatch_size = 16\noffset_learning_rate = 0.0\n";
  EXPECT_EQ(served(run, still + "role = 'principal'", 9), served(run, "name = 'feroma'", 9));
  EXPECT_NE(served(run, kToy + "start = 'feroma'", 9), served(run, "name = 'feroma'", 9));
  RoundLoop loop = run.loop(still + "role = 'principal'");
  test::play_all(loop);
  EXPECT_TRUE(loop.evaluate().accuracy_few_label) << "Feroma can choose by labels, so CoLA starts from that as well";
}

TEST(Cola, TrainsAsFedAvg) {
  ToyRun run;
  RoundLoop cola = run.loop(kToy);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(cola);
  test::play_all(fedavg);
  EXPECT_EQ(test::served_bits(cola.algorithm()), test::served_bits(fedavg.algorithm()));
  EXPECT_EQ(cola.totals().bytes_up, fedavg.totals().bytes_up);
  EXPECT_EQ(cola.totals().best_round, fedavg.totals().best_round);
  const auto model = test::served_bits(cola.algorithm());
  const ResultRecord result = cola.evaluate();
  EXPECT_EQ(test::served_bits(cola.algorithm()), model) << "testing changes no model";
  EXPECT_NEAR(result.accuracy, *result.accuracy_known, 1e-9);
  EXPECT_FALSE(result.accuracy_few_label);
}

// A principal predicts each batch and takes at most one step on it; a follower is served by its community's vectors.
TEST(Cola, TestingCostsPassesAndVectors) {
  ToyRun run;
  const auto tested = [&](const std::string& settings) {
    RoundLoop loop = run.loop(settings);
    test::play_all(loop);
    return loop.evaluate();
  };
  const ResultRecord fedavg = tested("name = 'fedavg'");
  EXPECT_EQ(fedavg.test_forward_passes, 1);
  EXPECT_EQ(fedavg.test_backward_passes, 0);
  EXPECT_EQ(fedavg.test_bytes_up, 0);
  const ResultRecord principal = tested(kToy + "role = 'principal'");
  EXPECT_GT(*principal.test_backward_passes, 0);
  EXPECT_LE(*principal.test_backward_passes, 1);
  EXPECT_EQ(principal.test_forward_passes, 1 + *principal.test_backward_passes);
  EXPECT_GT(*principal.test_bytes_up, 0);
  const auto others = static_cast<double>(run.federation.test_clients() - 1);
  EXPECT_DOUBLE_EQ(*principal.test_bytes_down, others * *principal.test_bytes_up) << "everybody gets everybody's";
  EXPECT_EQ(tested(kToy).test_forward_passes, principal.test_forward_passes) << "a client is a principal";
  const ResultRecord later = tested(kToy + "predict_when = 'after'");
  EXPECT_EQ(later.test_forward_passes, *principal.test_forward_passes + *principal.test_backward_passes);
  const ResultRecord follower = tested(kToy + "role = 'follower'");
  EXPECT_EQ(follower.test_forward_passes, 1 + *principal.test_forward_passes);
}

TEST(Cola, AdaptingLowersTheEntropyOfPredictions) {
  ToyRun run;
  const auto entropy = [](const std::vector<float>& all) {
    double sum = 0;
    for (const float p : all) {
      sum -= p > 0 ? static_cast<double>(p) * std::log(static_cast<double>(p)) : 0;
    }
    return sum;
  };
  const double before = entropy(served(run, "name = 'fedavg'"));
  const double principal = entropy(served(run, kToy + "role = 'principal'"));
  EXPECT_LT(principal, before);
  EXPECT_LT(entropy(served(run, kToy + "role = 'principal'\npredict_when = 'after'")), principal);
  EXPECT_LT(entropy(served(run, kToy + "role = 'follower'")), before);
}

TEST(Cola, ABatchIsPredictedBeforeLaterOnesAreSeen) {
  ToyRun run;
  const auto of_the_first_batches = [&](const std::string& options, std::size_t samples) {
    RoundLoop loop = run.loop(kToy + options);
    test::play_all(loop);
    test::ToyEngine engine(run.model);
    Trainer trainer(engine);
    StageSeconds seconds;
    View data = run.federation.test(ClientId{0}, 0).data;
    data.items.resize(samples);
    std::vector<TestContext> contexts;
    contexts.push_back({ClientId{0}, data, nullptr, Rng(1), trainer, seconds});
    std::vector<float> all = loop.algorithm().community(TestPolicy::native)(contexts)[0]->predict(trainer, data);
    all.resize(32 * 10);
    return all;
  };
  for (const std::string when : {"", "predict_when = 'after'"}) {
    EXPECT_EQ(of_the_first_batches(when, 32), of_the_first_batches(when, 48)) << when;
  }
  EXPECT_NE(of_the_first_batches("role = 'follower'", 32), of_the_first_batches("role = 'follower'", 48));
}

TEST(Cola, ReadsNoLabels) {
  ToyRun run;
  RoundLoop loop = run.loop(kToy + "role = 'follower'");
  test::play_all(loop);
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  StageSeconds seconds;
  const auto predictions = [&](const View& data) {
    std::vector<TestContext> contexts;
    contexts.push_back({ClientId{0}, data, nullptr, Rng(1), trainer, seconds});
    return loop.algorithm().community(TestPolicy::native)(contexts)[0]->predict(trainer, data);
  };
  const View data = run.federation.test(ClientId{0}, 0).data;
  Samples relabelled = *data.samples;
  std::fill(relabelled.labels.begin(), relabelled.labels.end(), 0);
  View blind = data;
  blind.samples = &relabelled;
  std::vector<Recipe> recipes(data.recipes.begin(), data.recipes.end());
  for (Recipe& recipe : recipes) {  // how a picture is turned may depend on its class only in some shifts
    std::fill(recipe.label_of_class.begin(), recipe.label_of_class.end(), 0);
  }
  blind.recipes = recipes;
  EXPECT_EQ(predictions(blind), predictions(data));
}

TEST(Cola, ClientsLearnFromOneAnother) {
  // Alone a client has only its own vectors; in company it mixes others', already while it adapts.
  ToyRun run;
  for (const std::string role : {"role = 'follower'", "role = 'principal'\nexchange_batches = 1"}) {
    RoundLoop loop = run.loop(kToy + role);
    test::play_all(loop);
    test::ToyEngine engine(run.model);
    Trainer trainer(engine);
    StageSeconds seconds;
    const auto first_of = [&](std::uint32_t clients) {
      std::vector<View> views;
      for (std::uint32_t i = 0; i < clients; ++i) {
        views.push_back(run.federation.test(ClientId{i}, 0).data);
      }
      std::vector<TestContext> contexts;
      for (std::uint32_t i = 0; i < clients; ++i) {
        contexts.push_back({ClientId{i}, views[i], nullptr, Rng(1).derive("test", i), trainer, seconds});
      }
      return loop.algorithm().community(TestPolicy::native)(contexts)[0]->predict(trainer, views[0]);
    };
    EXPECT_NE(first_of(1), first_of(6)) << role;
    EXPECT_EQ(first_of(6), first_of(6)) << role;
  }
}

TEST(Cola, MayStartFromAnyModels) {
  ToyRun run;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  StageSeconds seconds;
  const View data = run.federation.test(ClientId{0}, 0).data;
  std::vector<TestContext> contexts;
  contexts.push_back({ClientId{0}, data, nullptr, Rng(1), trainer, seconds});
  contexts.push_back({ClientId{1}, data, nullptr, Rng(2), trainer, seconds});
  const std::vector<ParametersPtr> starts{share(initialise(run.model, Rng(1))), share(initialise(run.model, Rng(2)))};
  ColaOptions still;
  still.offset_learning_rate = 0;
  const auto predictors = adapt_together(run.model, starts, contexts, still);
  ASSERT_EQ(predictors.size(), 2U);
  EXPECT_EQ(predictors[0]->predict(trainer, data), trainer.probabilities(*starts[0], data));
  EXPECT_EQ(predictors[1]->predict(trainer, data), trainer.probabilities(*starts[1], data));
}

TEST(Cola, SmallStreamsStillHaveStatistics) {
  ColaOptions options;
  View all;
  all.items.resize(40);
  EXPECT_TRUE(counts_for_statistics(options, all, all)) << "the largest batch this client has";
  View rest;
  rest.items.resize(20);
  all.items.resize(84);
  EXPECT_FALSE(counts_for_statistics(options, rest, all));
}

TEST(Cola, AShiftInTheStreamMakesAVector) {
  ToyRun run;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  const ParametersPtr start = share(initialise(run.model, Rng(1)));
  const ChannelAffine channels(start->layout());
  Stem stem(run.model);
  ColaOptions options;
  const auto vectors_after = [&](double threshold) {
    options.shift_threshold = threshold;
    PrincipalAgent agent(start, channels, options, Rng(1));
    for (const std::uint32_t client : {0U, 1U, 0U}) {
      static_cast<void>(agent.step(trainer, stem, run.federation.test(ClientId{client}, 0).data, true));
    }
    EXPECT_EQ(agent.publish().size(), agent.mixture().size());  // without the source, with where it is now
    EXPECT_EQ(agent.publish().size(), 1U) << "what was published is not published again";
    return agent.mixture().size();
  };
  EXPECT_EQ(vectors_after(1e9), 1U);
  EXPECT_EQ(vectors_after(0), 3U);
  options.max_vectors = 2;
  options.shift_threshold = 0;
  PrincipalAgent agent(start, channels, options, Rng(1));
  for (const std::uint32_t client : {0U, 1U, 0U, 1U}) {
    static_cast<void>(agent.step(trainer, stem, run.federation.test(ClientId{client}, 0).data, true));
  }
  EXPECT_EQ(agent.mixture().size(), 2U);
}

TEST(Cola, AdaptsAlongTheGradientOfAnEvaluation) {
  ToyRun run;
  const ModelSpec spec{
      "norm", run.federation.shape(), 10, {Conv2d{"a", 3, 3, 1}, BatchNorm{"b"}, Relu{}, Flatten{}, Linear{"c", 10}}};
  const auto engine = make_engine(EngineKind::native, spec);
  Trainer trainer(*engine);
  const ParametersPtr start = share(initialise(spec, Rng(3)));
  const View data = stream_of(run.federation.test(ClientId{0}, 0).data, 40).front();
  ColaOptions options;
  options.entropy_margin = 1;  // everybody teaches
  options.offset_learning_rate = 1;
  const ChannelAffine channels(start->layout());
  Stem stem(spec);
  PrincipalAgent agent(start, channels, options, Rng(1));
  const std::vector<float> predicted = agent.step(trainer, stem, data, /*counts=*/true);
  Batch inputs = unlabelled_batch(trainer, data);
  inputs.weights = SampleChoice(options.entropy_margin, options.redundancy_margin).weights(predicted, 10);
  Objective objective;
  objective.loss = Loss::entropy;
  objective.statistics = Statistics::running;
  Parameters model = start->clone();
  std::vector<float> gradient(model.size());
  trainer.gradient(model, inputs, objective, gradient);
  const std::vector<float> slope = channels.slope(*start, gradient);
  const std::vector<float> adapted = agent.publish().back().values;
  ASSERT_EQ(adapted.size(), slope.size());
  for (std::size_t j = 0; j < slope.size(); ++j) {
    EXPECT_NEAR(adapted[j], channels.identity()[j] - slope[j], 1e-6);
  }
}

TEST(Cola, RefusesInTheBeginningWhatItCannotAdapt) {
  ServerContext server;
  server.model = lenet5({1, 28, 28}, 10);
  server.initial = share(initialise(server.model, Rng(1)));
  const auto begins = [&server] {
    make_cola({})->init(server);
    return 0;
  };
  EXPECT_EQ(begins(), 0);
  server.multi_label = true;
  expect_error(ErrorCode::unsupported, "[cola] follows the entropy over classes that exclude one another, got multi",
               begins);
}

TEST(Cola, EveryOptionActs) {
  ToyRun run;
  const std::string fast = "exchange_batches = 1\nweight_learning_rate = 0.5\n";
  const std::string follows = fast + "role = 'follower'\n";
  const std::vector<float> principal = served(run, kToy + fast);
  const std::vector<float> follower = served(run, kToy + follows);
  EXPECT_NE(principal, follower);
  EXPECT_NE(principal, served(run, kToy + fast + "predict_when = 'after'"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = kToy + follows;
    const std::size_t at = text.find(from);
    return at == std::string::npos ? text + to : text.replace(at, from.size(), to);
  };
  const auto acts = [&](const std::string& from, const std::string& to) {
    EXPECT_NE(served(run, changed(from, to)), follower) << to;
  };
  acts("batch_size = 16\nsmallest_batch = 16", "batch_size = 20\nsmallest_batch = 16");
  acts("smallest_batch = 16", "smallest_batch = 1");
  acts("exchange_batches = 1\n", "exchange_batches = 2\n");
  acts("#", "shift_threshold = 1000.0");
  acts("#", "statistics_decay = 0.1");
  acts("offset_learning_rate = 0.05", "offset_learning_rate = 0.01");
  acts("#", "offset_momentum = 0.1");
  acts("weight_learning_rate = 0.5", "weight_learning_rate = 0.1");
  acts("#", "weight_decay = 0.9");
  acts("entropy_margin = 1.0", "entropy_margin = 0.6");
  acts("redundancy_margin = 1.01", "redundancy_margin = 0.5");
  acts("#", "temperature = 0.5");
  acts("#", "max_vectors = 2");
  acts("#", "statistics = 'previous'");
  acts("#", "momentum_reset = 'epoch'");
}

/// Vectors of training clients.
const std::string kTaught = "name = 'cola'\nvectors_of = 'training'\nbatch_size = 16\nsmallest_batch = 16\n";

TEST(TaughtCola, ARoundAfterTheLastLearnsVectorsAndLeavesTheModel) {
  ToyRun run;
  RoundLoop taught = run.loop(kTaught);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(taught);
  test::play_all(fedavg);
  EXPECT_EQ(taught.rounds(), fedavg.rounds() + 1);
  EXPECT_EQ(test::served_bits(taught.algorithm()), test::served_bits(fedavg.algorithm()));
  const ResultRecord result = taught.evaluate();
  EXPECT_GT(*result.accuracy_known, *fedavg.evaluate().accuracy_known) << "labels say what suits a client";
  EXPECT_NE(result.accuracy, fedavg.evaluate().accuracy);
  const auto vector = static_cast<double>(sizeof(float) * 2 * 10 + sizeof(float) * 2 * 10);  // with its statistics
  EXPECT_EQ(result.test_bytes_down, 6 * vector);
}

TEST(TaughtCola, WithoutStepsItIsFedAvg) {
  ToyRun run;
  const std::vector<float> fedavg = served(run, "name = 'fedavg'");
  EXPECT_NE(served(run, kTaught, 6), fedavg);
  EXPECT_EQ(served(run, kTaught, 5), fedavg) << "before anybody has learned a vector";
  EXPECT_EQ(served(run, kTaught + "vector_epochs = 0", 6), fedavg);
  EXPECT_EQ(served(run, kTaught + "vector_learning_rate = 0.0", 6), fedavg);
}

TEST(TaughtCola, GoesOnBitForBit) {
  ToyRun run;
  RoundLoop whole = run.loop(kTaught);
  test::play_all(whole);
  for (const Round rounds : {3, 6}) {
    RoundLoop begun = run.loop(kTaught);
    while (begun.finished_rounds() < rounds) {
      static_cast<void>(begun.play_round());
    }
    RoundLoop resumed = run.loop(kTaught);
    resumed.load(begun.save(), "test");
    test::play_all(resumed);
    EXPECT_EQ(test::served_bits(resumed.algorithm()), test::served_bits(whole.algorithm()));
    const ResultRecord one = whole.evaluate();
    const ResultRecord other = resumed.evaluate();
    EXPECT_EQ(one.accuracy, other.accuracy) << rounds;
    EXPECT_EQ(one.accuracy_known, other.accuracy_known) << rounds;
    EXPECT_EQ(one.accuracy_std_clients, other.accuracy_std_clients) << rounds;
  }
}

TEST(TaughtCola, EveryOptionActs) {
  ToyRun run;
  const std::vector<float> plain = served(run, kTaught, 6);
  for (const std::string option : {"vector_epochs = 1", "vector_learning_rate = 0.2", "offset_momentum = 0.1",
                                   "temperature = 0.5", "statistics = 'previous'", "statistics_decay = 0.1"}) {
    EXPECT_NE(served(run, kTaught + option, 6), plain) << option;
  }
  const auto refuses = [&](const std::string& settings, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop(settings).rounds(); });
  };
  for (const std::string option :
       {"role = 'follower'", "exchange_batches = 1", "shift_threshold = 0.5", "offset_learning_rate = 0.1",
        "weight_learning_rate = 0.2", "weight_decay = 0.2", "entropy_margin = 0.5", "redundancy_margin = 0.5",
        "max_vectors = 3", "predict_when = 'after'"}) {
    refuses(kTaught + option, "would be ignored with vectors_of = \"training\"");
  }
  refuses(kTaught + "start = 'feroma'", "start must be \"fedavg\" with vectors_of = \"training\"");
  for (const std::string option : {"vector_epochs = 1", "vector_learning_rate = 0.2"}) {
    refuses("name = 'cola'\n" + option, "would be ignored with vectors_of = \"test\"");
  }
}

TEST(TaughtCola, RefusesVectorsThatCannotBeBelieved) {
  ServerContext server;
  server.model = lenet5({1, 28, 28}, 10);
  server.initial = share(initialise(server.model, Rng(1)));
  server.rounds = 1;
  const auto cola = make_taught_cola({});
  cola->init(server);
  const std::size_t size = ChannelAffine(server.initial->layout()).size();
  const auto given = [&](const Floats& values, const Floats& mean, const Floats& variance) {
    test::deliver(*cola, 2, 0, {{ClientId{0}, {{{"values", values}, {"mean", mean}, {"variance", variance}}}}});
    return 0;
  };
  EXPECT_EQ(given(Floats(size, 1), Floats(6, 1), Floats(6, 1)), 0);
  const auto refuses = [&](const Floats& values, const Floats& mean, const Floats& variance) {
    expect_error(ErrorCode::invalid_data, "[cola] client 0's", [&] { return given(values, mean, variance); });
  };
  refuses(Floats(size - 1, 1), Floats(6, 1), Floats(6, 1));
  refuses(Floats(size, 1), Floats(5, 1), Floats(6, 1));
  refuses(Floats(size, 1), Floats(6, 1), Floats(6, -1));
}

TEST(Cola, RefusesWhatWouldDoNothing) {
  ToyRun run;
  for (const std::string key : {"statistics = 'previous'", "temperature = 1.0"}) {
    expect_error(ErrorCode::invalid_config, "ignored with role",
                 [&] { return run.loop("name = 'cola'\nrole = 'principal'\n" + key).rounds(); });
  }
  expect_error(ErrorCode::invalid_config, "ignored with role",
               [&] { return run.loop("name = 'cola'\nrole = 'follower'\npredict_when = 'after'").rounds(); });
  expect_error(ErrorCode::invalid_config, "smallest_batch must be <= batch_size",
               [&] { return run.loop("name = 'cola'\nbatch_size = 8\nsmallest_batch = 9").rounds(); });
}

}  // namespace
}  // namespace feroma
