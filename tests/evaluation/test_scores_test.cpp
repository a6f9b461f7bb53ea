#include "feroma/evaluation/test_scores.h"

#include <gtest/gtest.h>

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

TEST(Spread, OfNothingIsZero) { EXPECT_EQ(spread_of({}).mean, 0); }

/// Serves one fixed model for `native` only, and says where it came from.
class OneModel final : public Algorithm {
 public:
  OneModel(ParametersPtr model, std::map<ClientId, double> sources)
      : model_(std::move(model)), sources_(std::move(sources)) {}
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
  std::map<ClientId, double> sources_;
};

class ScoreTest : public testing::Test {
 protected:
  ScoreTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        spec(test::toy_model(federation.shape(), 10)),
        engine(spec),
        trainer(engine),
        shard(federation.test(ClientId{0}, 5)) {}

  TestScores score(const Algorithm& algorithm) {
    StageSeconds seconds;
    return score_test_client(
        algorithm, shard, ClientId{0}, trainer, Rng(1), [](ClientId client) { return to_index(client) == 2 ? 77 : 1; },
        seconds);
  }

  Federation federation;
  ModelSpec spec;
  test::ToyEngine engine;
  Trainer trainer;
  TestShard shard;
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

TEST_F(ScoreTest, OnlyTheFewLabelPolicySeesLabels) {
  const OneModel algorithm(share(initialise(spec, Rng(1))), {});
  static_cast<void>(score(algorithm));
  EXPECT_FALSE(algorithm.saw_few_labels);
}

TEST_F(ScoreTest, MatchMeansTheLargestSourceHasTheRightDistribution) {
  shard.distribution = 77;
  const ParametersPtr model = share(initialise(spec, Rng(1)));
  EXPECT_EQ(score(OneModel(model, {{ClientId{1}, 0.4}, {ClientId{2}, 0.6}})).matched, true);
  EXPECT_EQ(score(OneModel(model, {{ClientId{1}, 0.6}, {ClientId{2}, 0.4}})).matched, false);
}

}  // namespace
}  // namespace feroma
