#include "feroma/algorithms/shiftex.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/algorithms/two_concept_scenario.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

/// Pictures upright or turned by half, in one of two colours; every window brings another kind.
ScenarioOptions turning(int rounds, int windows) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rotations = 2;
  scenario.colours = 2;
  scenario.clients = 8;
  scenario.samples_per_client = 600;
  scenario.rounds = rounds;
  scenario.drifts = windows;
  scenario.force_change = true;
  return scenario;
}

std::size_t experts_in(const RoundLoop& loop) { return loop.algorithm().clusters()->models.size(); }

TEST(ShiftEx, WithoutShiftIsFedAvg) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.drifts = 1;
  ToyRun run(scenario);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop shiftex = run.loop("name = 'shiftex'");
  test::play_all(fedavg);
  test::play_all(shiftex);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(shiftex.algorithm()));
}

TEST(ShiftEx, NewSamplesOfTheSameDistributionNeedNoExpert) {
  ScenarioOptions scenario = turning(8, 4);
  scenario.rotations = 1;
  scenario.colours = 1;
  scenario.force_change = false;
  ToyRun run(scenario);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop shiftex = run.loop("name = 'shiftex'\nsignificance = 0.01");
  test::play_all(fedavg);
  test::play_all(shiftex);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(shiftex.algorithm()));
}

TEST(ShiftExSlow, GivesEveryDistributionAnExpertAndUsesItAgain) {
  // Turns alone: beside colours, which are farther apart, they would be within the kernel's bandwidth.
  ScenarioOptions scenario = turning(9, 3);
  scenario.colours = 1;
  scenario.samples_per_client = 1000;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'shiftex'");
  while (loop.finished_rounds() < 5) {
    static_cast<void>(loop.play_round());
  }
  EXPECT_EQ(experts_in(loop), 3U);  // the first, which saw both kinds, and one for each
  test::play_all(loop);
  EXPECT_EQ(experts_in(loop), 3U) << "the next window has the same kinds";
  EXPECT_TRUE(test::separates_concepts(run.federation, *loop.algorithm().clusters()));
  const ResultRecord result = loop.evaluate();
  ASSERT_TRUE(result.accuracy_nearest);
  ASSERT_TRUE(result.accuracy_expectation);
  EXPECT_GT(*result.accuracy_nearest, *result.accuracy_expectation);
  EXPECT_GT(*result.accuracy_known, 90);
}

// The test cannot see which label a picture has: where only P(Y|X) changes, there is one expert.
// Two kinds of data, two experts: matching by embeddings finds the right one, all of them together are worse.
TEST(ShiftEx, TestClientsAreServedByTheExpertOfDataLikeTheirs) {
  ScenarioOptions scenario = turning(9, 3);
  scenario.colours = 1;
  scenario.samples_per_client = 1000;
  ToyRun run(scenario);
  RoundLoop matched = run.loop("name = 'shiftex'");
  RoundLoop expected = run.loop("name = 'shiftex'\nserved_by = 'expectation'");
  test::play_all(matched);
  test::play_all(expected);
  ASSERT_GE(experts_in(matched), 2U);
  const ResultRecord own = matched.evaluate();
  const ResultRecord mean = expected.evaluate();
  EXPECT_EQ(own.accuracy, *own.accuracy_nearest);
  EXPECT_EQ(own.accuracy_expectation, mean.accuracy_expectation) << "it stays beside it";
  EXPECT_EQ(mean.accuracy, *mean.accuracy_expectation);
  EXPECT_EQ(mean.accuracy_nearest, own.accuracy_nearest);
  EXPECT_GT(own.accuracy, mean.accuracy + 5);
  EXPECT_EQ(test::served_bits(matched.algorithm()), test::served_bits(expected.algorithm()));
  EXPECT_EQ(matched.algorithm().passes_to_serve(8, true).forward, 2);
}

TEST(ShiftEx, WithOneExpertMatchingIsTheExpectation) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.drifts = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'shiftex'");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_EQ(result.accuracy, *result.accuracy_expectation);
  EXPECT_GT(result.accuracy, 0);
}

// A visitor is asked for embeddings and gets the expert that a test client of the simulator gets.
TEST(ShiftEx, AVisitorIsMatchedAsATestClientIs) {
  ScenarioOptions scenario = turning(9, 3);
  scenario.colours = 1;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'shiftex'");
  const Algorithm& before = loop.algorithm();
  EXPECT_TRUE(before.visitor_question().values.empty()) << "there is no encoder yet";
  test::play_all(loop);
  const Algorithm& algorithm = loop.algorithm();
  const Message question = algorithm.visitor_question();
  const View data = run.federation.test(ClientId{3}, 0).data;
  test::ToyEngine engine(run.model);
  Trainer trainer(engine);
  StageSeconds seconds;
  TestContext visitor{ClientId{3}, data, nullptr, Rng(5), trainer, seconds};
  const Message told = algorithm.visitor_profile(question, visitor);
  EXPECT_EQ(told.values.size(), 1U);
  EXPECT_GT(told.floats("embeddings").size(), 0U);
  EXPECT_LE(told.floats("embeddings").size(), static_cast<std::size_t>(algorithm.description_floats()));
  EXPECT_EQ(algorithm.description_floats(), 256 * latent_size(run.model, Latent::penultimate));
  const std::optional<Offer> offer = algorithm.offer(told, {});
  ASSERT_TRUE(offer);
  ASSERT_EQ(offer->models.size(), 1U);
  TestContext client{ClientId{3}, data, nullptr, Rng(5), trainer, seconds};
  const auto served = algorithm.predictor(TestPolicy::native, client);
  ASSERT_NE(served, nullptr);
  EXPECT_EQ(served->predict(trainer, data), make_predictor(*offer)->predict(trainer, data));
  EXPECT_EQ(client.traffic.bytes_down, question.bytes());
  EXPECT_EQ(client.traffic.bytes_up, told.bytes());
  EXPECT_FALSE(algorithm.offer(told, {.few_labels = true, .candidates = 2})) << "labels choose among all experts";
  expect_error(ErrorCode::invalid_data, "[shiftex] client 0's embeddings must be", [&] {
    return algorithm.offer({{{"embeddings", Floats(7, 0.5F)}}}, {}).has_value();
  });
}

TEST(ShiftEx, IsBlindToConcepts) {
  ScenarioOptions scenario = test::two_concepts(6);
  scenario.drifts = 3;
  scenario.samples_per_client = 600;
  scenario.force_change = true;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'shiftex'\nsignificance = 0.01");
  test::play_all(loop);
  EXPECT_EQ(experts_in(loop), 1U);
}

TEST(ShiftEx, EveryOptionChangesSomething) {
  ToyRun run(turning(8, 4));
  const auto bits = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'shiftex'\n" + options);
    test::play_all(loop);
    return test::served_bits(loop.algorithm());
  };
  const auto usual = bits("");
  EXPECT_NE(usual, bits("encoder_round = 3"));
  EXPECT_NE(usual, bits("create_cost = 1e9"));
  EXPECT_NE(usual, bits("experts = 1"));
  EXPECT_NE(usual, bits("momentum_reset = 'epoch'"));
  EXPECT_NE(usual, bits("samples = 2"));
  EXPECT_NE(usual, bits("label_weight = 1000.0"));
}

/// Bytes up in the round in which windows change, beyond the models.
std::int64_t shift_bytes(ToyRun& run, const std::string& options) {
  RoundLoop loop = run.loop("name = 'shiftex'\n" + options);
  const auto model = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  std::int64_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    bytes = loop.play_round().bytes_up - 8 * (model + 8);
  }
  return bytes;
}

TEST(ShiftEx, TheTestsDecideWhoReports) {
  ScenarioOptions scenario = turning(8, 2);
  ToyRun run(scenario);
  ASSERT_NE(run.federation.shard(ClientId{0}, 4).window, run.federation.shard(ClientId{0}, 5).window);
  scenario.rounds = 6;
  ToyRun early(scenario);  // windows change with round 4
  ASSERT_NE(early.federation.shard(ClientId{0}, 3).window, early.federation.shard(ClientId{0}, 4).window);
  EXPECT_EQ(shift_bytes(run, ""), 0);
  const std::int64_t everybody = shift_bytes(early, "");
  EXPECT_GT(everybody, 0);
  EXPECT_EQ(everybody, shift_bytes(early, "permutations = 7"));  // a turn is plain to see
  scenario.rotations = 1;
  scenario.colours = 1;
  scenario.force_change = false;
  ToyRun still(scenario);
  EXPECT_LT(shift_bytes(still, "significance = 0.01"), everybody / 2);
  EXPECT_EQ(shift_bytes(still, "significance = 1.0"), everybody);
  EXPECT_EQ(shift_bytes(still, "significance = 0.01\nlabel_threshold = 0.0"), everybody);
}

// One model each way in every round; the encoder, which is the first expert still, once in its place, and embeddings of
// at most 256 samples; the bandwidth once.
TEST(ShiftEx, CostsOneModelEachWayAndEmbeddings) {
  ToyRun run(turning(8, 2));
  RoundLoop loop = run.loop("name = 'shiftex'\nsamples = 10");
  const auto model = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  const int width = latent_size(run.model, Latent::penultimate);
  const std::int64_t report = 4 * (10 * width + 10) + 8;  // embeddings, class counts, and what they were drawn from
  const RoundRecord first = loop.play_round();
  EXPECT_EQ(first.bytes_down, 8 * model);
  EXPECT_EQ(first.bytes_up, 8 * (model + 8));
  const RoundRecord second = loop.play_round();
  EXPECT_EQ(second.bytes_down, 8 * model);
  EXPECT_EQ(second.bytes_up, 8 * (model + 8 + report));
  const RoundRecord third = loop.play_round();
  EXPECT_EQ(third.bytes_down, 8 * (model + 4));
  EXPECT_EQ(third.bytes_up, 8 * (model + 8));
  const RoundRecord fourth = loop.play_round();
  EXPECT_EQ(fourth.bytes_down, 8 * model);
  EXPECT_EQ(fourth.bytes_up, 8 * (model + 8));
  ASSERT_NE(run.federation.shard(ClientId{0}, 4).window, run.federation.shard(ClientId{0}, 5).window);
  const Passes before = loop.totals().passes;
  static_cast<void>(loop.play_round());
  const Passes looked = loop.totals().passes;
  EXPECT_EQ((looked.forward - before.forward) - (looked.backward - before.backward), 8 * 10);  // embeddings
  static_cast<void>(loop.play_round());
  const Passes after = loop.totals().passes;
  EXPECT_EQ(after.forward - looked.forward, after.backward - looked.backward);  // nothing new to look at
}

TEST(ShiftEx, WorksWhereClientsComeAndGo) {
  ScenarioOptions scenario = turning(10, 5);
  scenario.participation = 0.5;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'shiftex'");
  test::play_all(loop);
  EXPECT_EQ(loop.algorithm().clusters()->present.size(), 4U);
  EXPECT_EQ(loop.algorithm().clusters()->shares.size(), 8U) << "each has been here once";
  EXPECT_TRUE(loop.evaluate().accuracy_known);
  RoundLoop other = run.loop("name = 'shiftex'");
  other.load(loop.save(), "checkpoint");
  EXPECT_EQ(other.algorithm().clusters()->shares, loop.algorithm().clusters()->shares);
  EXPECT_EQ(other.algorithm().clusters()->present, loop.algorithm().clusters()->present);
}

TEST(ShiftEx, ResumesWithExpertsAndMemories) {
  ToyRun run(turning(8, 4));
  RoundLoop whole = run.loop("name = 'shiftex'");
  test::play_all(whole);
  for (int stop_after = 1; stop_after < 8; ++stop_after) {
    RoundLoop first = run.loop("name = 'shiftex'");
    for (int i = 0; i < stop_after; ++i) {
      static_cast<void>(first.play_round());
    }
    RoundLoop second = run.loop("name = 'shiftex'");
    second.load(first.save(), "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm())) << stop_after;
    EXPECT_EQ(whole.totals().bytes_down, second.totals().bytes_down);
  }
}

class ShiftExAnswers : public testing::Test {
 protected:
  ShiftExAnswers() : algorithm(make_shiftex({})) {
    ServerContext server;
    server.model = test::toy_model({1, 2, 2}, 2);
    server.initial = initial;
    algorithm->init(server);
    train(1, {{{"model", initial}, {"num_examples", Ints{5}}}});
  }
  void answer(Round round, int phase, const Message& message) {
    std::map<ClientId, Message> answers{{ClientId{7}, message}};
    test::deliver(*algorithm, round, phase, std::move(answers));
  }
  void train(Round round, const Message& message) { answer(round, algorithm->phases(round) - 1, message); }
  void refuses(std::string_view part, int phase, const Message& message) {
    expect_error(ErrorCode::invalid_data, part, [&] {
      answer(2, phase, message);
      return 0;
    });
  }

  std::unique_ptr<Algorithm> algorithm;
  const ParametersPtr initial = share(initialise(test::toy_model({1, 2, 2}, 2), Rng(1)));
};

TEST_F(ShiftExAnswers, WhoLostWhatItWasSentIsIntroducedAgain) {
  const Message introduction{
      {{"embeddings", Floats{1, 2, 3, 4, 5, 6, 7, 9}}, {"classes", Floats{1, 1}}, {"num_examples", Ints{2}}}};
  ASSERT_TRUE(algorithm->downlink(2, 0, ClientId{7}).has("encoder"));
  answer(2, 0, introduction);
  EXPECT_TRUE(algorithm->downlink(2, 1, ClientId{7}).values.empty()) << "the encoder is the model that it trains";
  Parameters trained = initial->clone();
  trained.values()[0] += 1;
  train(2, {{{"model", share(std::move(trained))}, {"num_examples", Ints{2}}}});
  EXPECT_TRUE(algorithm->downlink(3, 1, ClientId{7}).has("model"));
  answer(3, 0, {});
  EXPECT_TRUE(algorithm->downlink(4, 0, ClientId{7}).values.empty()) << "it has the bandwidth by now";
  algorithm->forget(ClientId{7});
  const Message task = algorithm->downlink(4, 0, ClientId{7});
  EXPECT_TRUE(task.has("encoder"));
  EXPECT_TRUE(task.has("bandwidth"));
  answer(4, 0, introduction);
  EXPECT_TRUE(algorithm->downlink(5, 0, ClientId{7}).values.empty());
}

TEST_F(ShiftExAnswers, MustFitWhatWasAsked) {
  const Floats rows(8, 1.0F);
  refuses("embeddings", 0, {});
  refuses("1 to 256 rows of 4", 0, {{{"embeddings", Floats(7, 1.0F)}, {"classes", Floats{1, 1}}}});
  refuses("1 to 256 rows of 4", 0, {{{"embeddings", Floats{}}, {"classes", Floats{1, 1}}}});
  refuses("1 to 256 rows of 4", 0, {{{"embeddings", Floats(257 * 4)}, {"classes", Floats{1, 1}}}});
  Floats broken = rows;
  broken[3] = std::numeric_limits<float>::quiet_NaN();
  refuses("finite", 0, {{{"embeddings", broken}, {"classes", Floats{1, 1}}}});
  refuses("client 7's classes must", 0, {{{"embeddings", rows}, {"classes", Floats{1}}}});
  refuses("client 7's classes must", 0, {{{"embeddings", rows}, {"classes", Floats{1, -1}}}});
  Message whole{{{"embeddings", rows}, {"classes", Floats{1, 1}}, {"num_examples", Ints{1}}}};
  refuses("client 7's num_examples must be in 2..1000000000, got 1", 0, whole);
  whole.values["num_examples"] = Ints{2};
  answer(2, 0, whole);
  refuses("threshold", 0, whole);
  whole.values["threshold"] = Floats{-1};
  refuses("client 7's threshold must be >= 0, got -1", 0, whole);
  const ParametersPtr model = initial;
  refuses("client 7's num_examples must be in 1..1000000000, got 0", 1,
          {{{"model", model}, {"num_examples", Ints{0}}}});
  Parameters infinite = model->clone();
  infinite.values()[0] = std::numeric_limits<float>::infinity();
  refuses("finite", 1, {{{"model", share(std::move(infinite))}, {"num_examples", Ints{1}}}});
}

}  // namespace
}  // namespace feroma
