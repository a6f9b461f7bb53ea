#include "feroma/evaluation/together.h"

#include <gtest/gtest.h>

#include "feroma/evaluation/test_scores.h"
#include "tests/expect_error.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

/// Calls every sample one class.
class Says final : public Predictor {
 public:
  explicit Says(std::size_t label) : label_(label) {}
  std::vector<float> predict(Trainer&, const View& view) override {
    std::vector<float> probabilities(view.size() * 10);
    for (std::size_t i = 0; i < view.size(); ++i) {
      probabilities[i * 10 + label_] = 1;
    }
    return probabilities;
  }
  [[nodiscard]] const ModelShares& sources() const override { return none_; }

 private:
  std::size_t label_;
  ModelShares none_;
};

/// Serves client i class i under its community's policies, and class 9 to everybody who comes alone.
class Sociable final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::unique_ptr<Predictor> predictor(TestPolicy, TestContext&) const override {
    return std::make_unique<Says>(9);
  }
  [[nodiscard]] Community community(TestPolicy policy) const override {
    if (std::find(policies.begin(), policies.end(), policy) == policies.end()) {
      return {};
    }
    return [this](std::span<TestContext> clients) {
      met += 1;
      std::vector<std::unique_ptr<Predictor>> predictors;
      for (TestContext& client : clients) {
        EXPECT_EQ(to_index(client.id), predictors.size());
        draws.push_back(client.rng.next_u64());
        sizes.push_back(client.data.size());
        labelled = labelled || client.few_labels != nullptr;
        predictors.push_back(std::make_unique<Says>(predictors.size()));
      }
      if (forgets_one) {
        predictors.pop_back();
      }
      return predictors;
    };
  }
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  std::vector<TestPolicy> policies{TestPolicy::native};
  bool forgets_one = false;
  mutable int met = 0;
  mutable bool labelled = false;
  mutable std::vector<std::uint64_t> draws;
  mutable std::vector<std::size_t> sizes;
};

class TogetherTest : public testing::Test {
 protected:
  TogetherTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        engine(test::toy_model(federation.shape(), 10)),
        trainer(engine) {}

  Together meet(std::span<const TestPolicy> policies = kTestPolicies) {
    return serve_together(algorithm, policies, federation, 5, trainer, Rng(1), {}, seconds);
  }
  TestScores score(ClientId client, Together* together) {
    TestScores scores = score_natively(scoring(together), federation.test(client, 5), client);
    score_other_policies(scoring(together), federation.test(client, 5), client, scores);
    return scores;
  }
  Scoring scoring(Together* together) {
    return {algorithm, trainer, Rng(1), nobody, [](const ModelSource&) { return 0; }, seconds, together};
  }
  /// The share of a class in a client's test data, in percent.
  double share(ClientId client, std::int32_t label) const {
    const View data = federation.test(client, 0).data;
    double count = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      count += data.label(i) == label ? 1 : 0;
    }
    return 100 * count / static_cast<double>(data.size());
  }

  Federation federation;
  test::ToyEngine engine;
  Trainer trainer;
  Sociable algorithm;
  const Memories nobody;
  StageSeconds seconds;
};

TEST_F(TogetherTest, EveryClientGetsItsOwnPredictorAndTheOtherPoliciesStay) {
  Together together = meet();
  EXPECT_EQ(algorithm.met, 1);
  ASSERT_EQ(algorithm.sizes.size(), federation.test_clients());
  for (const std::uint32_t i : {0U, 3U}) {
    const ClientId client{i};
    EXPECT_EQ(algorithm.sizes[i], federation.test(client, 0).data.size());
    const TestScores scores = score(client, &together);
    EXPECT_NEAR(*scores.native, share(client, static_cast<std::int32_t>(i)), 1e-9);
    EXPECT_NEAR(*scores.known, share(client, 9), 1e-9);
  }
  EXPECT_NEAR(*score(ClientId{2}, nullptr).native, share(ClientId{2}, 9), 1e-9);
}

TEST_F(TogetherTest, AnotherRoundsModelIsServedTogetherToo) {
  Together together = meet(std::array{TestPolicy::native});
  const ClientId client{1};
  EXPECT_NEAR(*score_natively(scoring(&together), federation.test(client, 5), client).native, share(client, 1), 1e-9);
}

TEST_F(TogetherTest, APredictorIsGivenAwayOnce) {
  Together together = meet();
  EXPECT_NE(together.take(TestPolicy::native, ClientId{1}), nullptr);
  EXPECT_EQ(together.take(TestPolicy::native, ClientId{1}), nullptr);
  EXPECT_EQ(together.take(TestPolicy::known_association, ClientId{0}), nullptr);
}

TEST_F(TogetherTest, MethodsWithoutACommunityMeetNobody) {
  algorithm.policies.clear();
  EXPECT_TRUE(meet().empty());
  algorithm.policies = {TestPolicy::known_association};
  EXPECT_TRUE(meet(std::array{TestPolicy::native}).empty());
  EXPECT_EQ(algorithm.met, 0);
}

TEST_F(TogetherTest, EveryClientHasTheStreamItWouldHaveAlone) {
  static_cast<void>(meet());
  EXPECT_EQ(algorithm.draws[4], Rng(1).derive("test", 4).next_u64());
}

TEST_F(TogetherTest, OnlyTheFewLabelPolicySeesLabels) {
  algorithm.policies = {TestPolicy::native, TestPolicy::known_association};
  static_cast<void>(meet());
  EXPECT_FALSE(algorithm.labelled);
  algorithm.policies = {TestPolicy::few_label};
  static_cast<void>(meet());
  EXPECT_TRUE(algorithm.labelled);
}

TEST_F(TogetherTest, NobodyMayBeForgotten) {
  algorithm.forgets_one = true;
  expect_error(ErrorCode::internal, "a predictor each", [&] { return meet().empty(); });
}

}  // namespace
}  // namespace feroma
