#include "feroma/evaluation/serve.h"

#include <gtest/gtest.h>

#include "feroma/drift/federation.h"
#include "feroma/evaluation/test_scores.h"
#include "tests/toy_engine.h"

namespace feroma {
namespace {

/// Holds whatever a test puts into it and has no rule of its own.
class Holder final : public Algorithm {
 public:
  void init(const ServerContext&) override {}
  [[nodiscard]] Message downlink(Round, int, ClientId) const override { return {}; }
  [[nodiscard]] Message client_step(Round, int, ClientContext&, const Message&) const override { return {}; }
  void uplink(Round, int, std::map<ClientId, Message>&, StageSeconds&) override {}
  [[nodiscard]] std::vector<ServedModel> served() const override { return {}; }
  [[nodiscard]] std::optional<ClusterView> clusters() const override { return view; }
  [[nodiscard]] std::unique_ptr<Predictor> personal(const Message& memory) const override {
    return memory.has("own") ? make_single_model_predictor(memory.model("own")) : nullptr;
  }
  void save(ModelWriter&) const override {}
  void load(ModelReader&) override {}

  std::optional<ClusterView> view;
};

class ServeTest : public testing::Test {
 protected:
  ServeTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        spec(test::toy_model(federation.shape(), federation.classes())),
        engine(spec),
        trainer(engine),
        shard(federation.test(ClientId{0}, 5)) {}

  /// A model that gives class `favourite` the logit `strength` and all others 0, whatever it sees.
  [[nodiscard]] ParametersPtr says(std::size_t favourite, float strength = 20) const {
    Parameters params(initialise(spec, Rng(1)));
    std::fill(params.values().begin(), params.values().end(), 0.0F);
    params.values()[params.size() - static_cast<std::size_t>(spec.classes) + favourite] = strength;
    return share(std::move(params));
  }
  /// What the first sample's classes get; empty where the policy is not served.
  std::vector<float> first_row(TestPolicy policy, const View* few_labels = nullptr) {
    StageSeconds seconds;
    TestContext context{ClientId{0}, shard.data, few_labels, Rng(1), trainer, seconds, &memories};
    const auto predictor = serve(holder, policy, context);
    if (!predictor) {
      return {};
    }
    std::vector<float> all = predictor->predict(trainer, shard.data);
    all.resize(static_cast<std::size_t>(spec.classes));
    return all;
  }

  Federation federation;
  ModelSpec spec;
  test::ToyEngine engine;
  Trainer trainer;
  TestShard shard;
  Holder holder;
  Memories memories;
};

TEST_F(ServeTest, ClustersAreWeightedByTheClientsInThem) {
  holder.view = {{says(0), says(1), says(2)}, {}};
  holder.view->shares = {{ClientId{0}, {0, 1, 0}}, {ClientId{1}, {1, 0, 0}}, {ClientId{2}, {0.5, 0.5, 0}}};
  holder.view->present = {ClientId{0}, ClientId{1}, ClientId{2}};
  for (const TestPolicy policy : {TestPolicy::native, TestPolicy::cluster_expectation}) {
    const std::vector<float> row = first_row(policy);
    EXPECT_NEAR(row[0], 0.5, 1e-6);
    EXPECT_NEAR(row[1], 0.5, 1e-6);
    EXPECT_NEAR(row[2], 0, 1e-6) << "an empty cluster says nothing";
  }
  EXPECT_NEAR(first_row(TestPolicy::known_association)[1], 1, 1e-6);
  EXPECT_TRUE(first_row(TestPolicy::personal_uniform).empty());
  EXPECT_TRUE(first_row(TestPolicy::nearest_signature).empty());
}

TEST_F(ServeTest, AKnownClientIsServedItsOwnShares) {
  holder.view = {{says(0), says(1), says(2)}, {{ClientId{0}, {0.5, 0.5, 0}}, {ClientId{1}, {0, 0, 1}}}};
  holder.view->present = {ClientId{0}, ClientId{1}};
  const std::vector<float> own = first_row(TestPolicy::known_association);
  EXPECT_NEAR(own[0], 0.5, 1e-6);
  EXPECT_NEAR(own[1], 0.5, 1e-6);
  EXPECT_NEAR(own[2], 0, 1e-6);
  const std::vector<float> everybodys = first_row(TestPolicy::cluster_expectation);
  EXPECT_NEAR(everybodys[0], 0.25, 1e-6);  // half of one client in two
  EXPECT_NEAR(everybodys[2], 0.5, 1e-6);
}

// Logits 20 and 0 are probabilities 1 and 1/2, label by label; their mean is 3/4 for the two labels that one of the
// models is sure of and 1/2 for all others. Softmaxes would give 1/2 and 0, the sigmoid of mean logits 1 and 1/2.
TEST_F(ServeTest, ClustersOfMultiLabelDataAverageTheirSigmoids) {
  Samples several = *shard.data.samples;
  several.labels.assign(several.count(), 0);
  several.targets.assign(several.count() * 10, 0);
  shard.data.samples = &several;
  holder.view = {{says(3), says(4)}, {{ClientId{0}, {1, 0}}, {ClientId{1}, {0, 1}}}, {ClientId{0}, ClientId{1}}};
  for (const TestPolicy policy : {TestPolicy::native, TestPolicy::cluster_expectation}) {
    const std::vector<float> row = first_row(policy);
    EXPECT_NEAR(row[3], 0.75, 1e-6);
    EXPECT_NEAR(row[4], 0.75, 1e-6);
    EXPECT_NEAR(row[0], 0.5, 1e-6);
  }
  EXPECT_NEAR(first_row(TestPolicy::known_association)[3], 1, 1e-6);
  EXPECT_NEAR(first_row(TestPolicy::known_association)[4], 0.5, 1e-6);
}

TEST_F(ServeTest, AnAbsentClientIsServedAsItWasAndCountsForNobodyElse) {
  holder.view = {{says(0), says(1)}, {{ClientId{0}, {0, 1}}, {ClientId{1}, {1, 0}}}, {ClientId{1}}};
  EXPECT_NEAR(first_row(TestPolicy::known_association)[1], 1, 1e-6);
  EXPECT_NEAR(first_row(TestPolicy::cluster_expectation)[0], 1, 1e-6);
  EXPECT_NEAR(first_row(TestPolicy::cluster_expectation)[1], 0, 1e-6);
}

TEST_F(ServeTest, AClientThatIsInNoClusterIsNotServedAsItself) {
  holder.view = {{says(0)}, {{ClientId{7}, {1.0}}}, {ClientId{7}}};
  EXPECT_TRUE(first_row(TestPolicy::known_association).empty());
  EXPECT_FALSE(first_row(TestPolicy::native).empty());
}

TEST_F(ServeTest, PersonalModelsSpeakForStrangersTogether) {
  const Message first{{{"own", says(3)}}};
  const Message second{{{"own", says(4)}}};
  const Message without;
  memories = {{ClientId{0}, &first}, {ClientId{1}, &second}, {ClientId{2}, &without}};
  for (const TestPolicy policy : {TestPolicy::native, TestPolicy::personal_uniform}) {
    const std::vector<float> row = first_row(policy);
    EXPECT_NEAR(row[3], 0.5, 1e-6);
    EXPECT_NEAR(row[4], 0.5, 1e-6);
  }
  EXPECT_NEAR(first_row(TestPolicy::known_association)[3], 1, 1e-6);
  EXPECT_TRUE(first_row(TestPolicy::cluster_expectation).empty());
}

TEST_F(ServeTest, FewLabelsChooseTheModelThatFitsThem) {
  holder.view = {{says(0), says(1)}, {{ClientId{0}, {1.0, 0.0}}}, {ClientId{0}}};
  View ones = shard.few_labels;
  std::erase_if(ones.items, [&](const ViewItem& item) {
    View single = shard.few_labels;
    single.items = {item};
    return single.label(0) != 1;
  });
  ASSERT_GT(ones.size(), 0U);
  EXPECT_GT(first_row(TestPolicy::few_label, &ones)[1], 0.99F);
  EXPECT_TRUE(first_row(TestPolicy::few_label).empty()) << "no labels, no choice";
}

TEST_F(ServeTest, NothingHeldIsNothingServed) {
  for (const TestPolicy policy : {TestPolicy::native, TestPolicy::cluster_expectation, TestPolicy::known_association,
                                  TestPolicy::personal_uniform, TestPolicy::nearest_signature, TestPolicy::few_label}) {
    EXPECT_TRUE(first_row(policy, &shard.few_labels).empty());
  }
}

}  // namespace
}  // namespace feroma
