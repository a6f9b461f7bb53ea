#include "feroma/evaluation/test_scores.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/toy_engine.h"

namespace feroma {
namespace {

TEST(Spread, IsMeanPopulationStdAndWorstTenth) {
  const std::vector<double> values{90, 70, 80, 100};
  const Spread spread = spread_of(values);
  EXPECT_DOUBLE_EQ(spread.mean, 85);
  EXPECT_NEAR(spread.std, 11.1803398875, 1e-9);  // sqrt((25 + 225 + 25 + 225) / 4)
  EXPECT_DOUBLE_EQ(spread.worst10, 70);
}

TEST(Spread, WorstTenthOfTwentyIsTheMeanOfTwo) {
  std::vector<double> values(20, 90);
  values[3] = 10;
  values[7] = 30;
  EXPECT_DOUBLE_EQ(spread_of(values).worst10, 20);
}

TEST(Spread, WorstTenthIsRoundedUp) {
  std::vector<double> values(11, 90);
  values[3] = 10;
  EXPECT_DOUBLE_EQ(spread_of(values).worst10, 50);  // two of eleven
}

TEST(Spread, OfNothingIsZero) { EXPECT_EQ(spread_of({}).mean, 0); }

/// Serves one fixed model for `native` only, and says where it came from.
class OneModel final : public Algorithm {
 public:
  OneModel(ParametersPtr model, ModelShares sources) : model_(std::move(model)), sources_(std::move(sources)) {}
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    saw_few_labels = saw_few_labels || (policy != TestPolicy::few_label && context.few_labels != nullptr);
    return policy == TestPolicy::native ? make_single_model_predictor(model_, sources_) : nullptr;
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  mutable bool saw_few_labels = false;

 private:
  ParametersPtr model_;
  ModelShares sources_;
};

/// Calls every sample one class, whatever it looks like.
class OneClass final : public Predictor {
 public:
  explicit OneClass(std::size_t label) : label_(label) {}
  std::vector<float> predict(Trainer&, const View& view) override {
    std::vector<float> probabilities(view.size() * 10);
    for (std::size_t i = 0; i < view.size(); ++i) {
      probabilities[i * 10 + label_] = 1;
    }
    return probabilities;
  }
  [[nodiscard]] const ModelShares& sources() const override { return sources_; }

 private:
  std::size_t label_;
  ModelShares sources_;
};

/// Answers 0, 1, 2 and 3 under four policies, and remembers whom it was asked about.
class OneClassPerPolicy final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy policy, TestContext& context) const override {
    asked.push_back(context.id);
    draws.push_back(context.rng.next_u64());
    few_labels = context.few_labels;
    switch (policy) {
      case TestPolicy::native: return std::make_unique<OneClass>(0);
      case TestPolicy::known_association: return std::make_unique<OneClass>(1);
      case TestPolicy::nearest_signature: return std::make_unique<OneClass>(2);
      case TestPolicy::few_label: return std::make_unique<OneClass>(3);
      default: return nullptr;
    }
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  mutable std::vector<ClientId> asked;
  mutable std::vector<std::uint64_t> draws;
  mutable const View* few_labels = nullptr;  ///< of the last question
};

class ScoreTest : public testing::Test {
 protected:
  ScoreTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        spec(test::toy_model(federation.shape(), 10)),
        engine(spec),
        trainer(engine),
        shard(federation.test(ClientId{0}, 5)) {}

  Scoring scoring(const Algorithm& algorithm) {
    return {algorithm,
            trainer,
            Rng(1),
            nobody,
            [](const ModelSource& source) { return to_index(source.client) == 2 ? 77 : 1; },
            seconds};
  }
  TestScores score(const Algorithm& algorithm, ClientId client = ClientId{0}) {
    TestScores scores = score_natively(scoring(algorithm), shard, client);
    score_other_policies(scoring(algorithm), shard, client, scores);
    return scores;
  }

  Federation federation;
  ModelSpec spec;
  test::ToyEngine engine;
  Trainer trainer;
  TestShard shard;
  const Memories nobody;
  StageSeconds seconds;
};

TEST_F(ScoreTest, PoliciesAMethodDoesNotServeAreAbsent) {
  const OneModel algorithm(share(initialise(spec, Rng(1))), {});
  const TestScores scores = score(algorithm);
  EXPECT_TRUE(scores.native);
  EXPECT_FALSE(scores.known);
  EXPECT_FALSE(scores.few_label);
  EXPECT_FALSE(scores.nearest);
  EXPECT_FALSE(scores.matched);  // no sources: the question has no meaning
}

TEST_F(ScoreTest, EveryPolicyIsScoredOnTheTestData) {
  // One sample of class 0, two of class 1, three of class 2, four of class 3.
  std::array<int, 10> wanted{1, 2, 3, 4};
  std::vector<ViewItem> kept;
  for (std::size_t i = 0; i < shard.data.size(); ++i) {
    if (wanted.at(static_cast<std::size_t>(shard.data.label(i)))-- > 0) {
      kept.push_back(shard.data.items[i]);
    }
  }
  shard.data.items = kept;
  ASSERT_EQ(shard.data.size(), 10U);
  const OneClassPerPolicy algorithm;
  const TestScores scores = score(algorithm);
  EXPECT_EQ(algorithm.few_labels, &shard.few_labels);  // few_label is asked last
  EXPECT_DOUBLE_EQ(*scores.native, 10);
  EXPECT_DOUBLE_EQ(*scores.known, 20);
  EXPECT_DOUBLE_EQ(*scores.nearest, 30);
  EXPECT_DOUBLE_EQ(*scores.few_label, 40);
  const TestScores alone = score_natively(scoring(algorithm), shard, ClientId{0});
  EXPECT_DOUBLE_EQ(*alone.native, 10);
  EXPECT_FALSE(alone.known);
  EXPECT_DOUBLE_EQ(score_own(algorithm, ClientId{0}, shard.data, trainer, Rng(1), {}, seconds)->accuracy(), 20);
}

TEST_F(ScoreTest, EveryClientIsServedAsItselfWithAStreamOfItsOwn) {
  const OneClassPerPolicy algorithm;
  for (const ClientId client : {ClientId{3}, ClientId{4}}) {
    static_cast<void>(score(algorithm, client));
  }
  ASSERT_EQ(algorithm.asked.size(), 12U);
  EXPECT_EQ(algorithm.asked[0], ClientId{3});
  EXPECT_EQ(algorithm.asked[6], ClientId{4});
  EXPECT_NE(algorithm.draws[0], algorithm.draws[6]);
  static_cast<void>(score_natively(scoring(algorithm), shard, ClientId{3}));
  EXPECT_EQ(algorithm.draws.back(), algorithm.draws[0]);  // another round's model, the same client and stream
}

TEST_F(ScoreTest, OnlyTheFewLabelPolicySeesLabels) {
  const OneModel algorithm(share(initialise(spec, Rng(1))), {});
  static_cast<void>(score(algorithm));
  EXPECT_FALSE(algorithm.saw_few_labels);
}

TEST_F(ScoreTest, MatchMeansTheLargestSourceHasTheRightDistribution) {
  shard.distribution = 77;
  const ParametersPtr model = share(initialise(spec, Rng(1)));
  EXPECT_EQ(score(OneModel(model, {{{ClientId{1}}, 0.4}, {{ClientId{2}}, 0.6}})).matched, true);
  EXPECT_EQ(score(OneModel(model, {{{ClientId{1}}, 0.6}, {{ClientId{2}}, 0.4}})).matched, false);
}

}  // namespace
}  // namespace feroma
