// FedDrift's server by itself: what it asks of clients, and what it makes of their answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "feroma/algorithms/feddrift.h"
#include "tests/algorithms/two_concept_scenario.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

class FedDriftAnswers : public testing::Test {
 protected:
  FedDriftAnswers() { begin(IdleModels::rest); }
  void begin(IdleModels idle) {
    FedDriftOptions options;
    options.merge_needs = 0;  // asks for no guesses
    options.idle_models = idle;
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

// Client 7's second window chose the other's model, so that it has two, of which the first is nobody's newest; the data
// of its first are gone.
TEST_F(FedDriftAnswers, AModelWithoutDataStaysAsItIs) {
  begin(IdleModels::train);
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

}  // namespace
}  // namespace feroma
