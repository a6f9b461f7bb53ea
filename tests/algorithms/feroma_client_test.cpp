// What a Feroma client sends, and what a test client is served.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "algorithms/parents.h"
#include "feroma/algorithms/extractor.h"
#include "feroma/algorithms/feroma.h"
#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::ToyRun;

class ClientTest : public testing::Test {
 protected:
  ClientTest()
      : federation(test::toy_dataset(), test::toy_scenario()),
        model(test::toy_model(federation.shape(), 10)),
        engine(model),
        trainer(engine),
        shard(federation.shard(ClientId{0}, 1)) {
    options.max_samples = 20;
  }

  std::unique_ptr<Algorithm> start() const {
    std::unique_ptr<Algorithm> algorithm = make_feroma(options);
    ServerContext server;
    server.model = model;
    server.initial = share(initialise(model, Rng(1)));
    server.fit = {2, 16, 0.2, 0.9, MomentumReset::round};
    algorithm->init(server);
    return algorithm;
  }
  Message step(const Algorithm& algorithm, int phase) {
    ClientContext context{ClientId{0}, 1, 0, shard.train, shard.held_out, state, Rng(5), trainer, report, seconds};
    return algorithm.client_step(1, algorithm.task(1, phase), context, algorithm.downlink(1, phase, ClientId{0}));
  }
  View profiled() const { return profile_view(options, shard.train, shard.held_out, Rng(5).derive("profile")); }

  Federation federation;
  ModelSpec model;
  test::ToyEngine engine;
  Trainer trainer;
  ClientShard shard;
  FeromaOptions options;
  Message state;
  ClientReport report;
  StageSeconds seconds;
};

TEST_F(ClientTest, SamplesAndHalvesAreDrawnFromDifferentStreams) {
  options.encoder = "input_moments";
  options.warmup_rounds = 0;
  options.subsampling = Subsampling::halves;
  const std::unique_ptr<Algorithm> algorithm = start();
  const Extractor extractor = extractor_from(algorithm->downlink(1, 0, ClientId{0}), model.input.size());
  const EncodedSamples samples = encode_samples(options, nullptr, trainer, profiled(), true);
  const Profile expected =
      extract_profile(options, extractor, samples, 10, Subsampling::halves, Rng(5).derive("subsampling"));
  const Message answer = step(*algorithm, 0);
  EXPECT_EQ(answer.floats("profile"), encode(expected, profile_shape(options, model)));
  EXPECT_EQ(answer.integer("num_samples"), 20);
}

TEST_F(ClientTest, BoundsAreThoseOfTheSamplesItWillProfile) {
  options.encoder = "input_moments";
  options.warmup_rounds = 0;
  options.projection = Projection::pca_box;
  const Bounds expected = bounds_of(encode_samples(options, nullptr, trainer, profiled(), false).rows);
  const Message answer = step(*start(), 0);
  EXPECT_EQ(answer.floats("lower"), expected.lower);
  EXPECT_EQ(answer.floats("upper"), expected.upper);
}

TEST_F(ClientTest, TheLargestLatentIsMeasuredOnTheHeldOutPart) {
  options.projection = Projection::pca_cube;
  shard.held_out.items.resize(1);
  const Rows one = encode_samples(options, nullptr, trainer, shard.held_out, false).rows;
  EXPECT_EQ(step(*start(), 0).floats("latent_max")[0], *std::max_element(one.values.begin(), one.values.end()));
}

TEST_F(ClientTest, AutomaticWarmUpIsToldTheAccuracyAfterTraining) {
  options.warmup_auto = true;
  const Message answer = step(*start(), 0);
  EXPECT_EQ(answer.ints("held_out"), (Ints{report.after.correct, report.after.count}));
  EXPECT_NE(report.after.correct, report.before.correct);
}

class ServingTest : public testing::Test {
 protected:
  explicit ServingTest(Shift shift = Shift::covariate) : run(scenario_of(shift)), engine(run.model), trainer(engine) {}

  static ScenarioOptions scenario_of(Shift shift) {
    ScenarioOptions scenario = test::toy_scenario();
    scenario.shift = shift;
    return scenario;
  }
  const Algorithm& play(const std::string& options = "") {
    loop.emplace(run.loop("name = 'feroma'\nwarmup_rounds = 2\n" + options));
    test::play_all(*loop);
    return loop->algorithm();
  }
  ModelShares sources(TestPolicy policy, std::uint64_t seed = 1, const View* few_labels = nullptr) {
    return sources_for(run.federation.test(ClientId{2}, kFewLabels).data, policy, seed, few_labels);
  }
  ModelShares sources_for(const View& data, TestPolicy policy, std::uint64_t seed = 1,
                          const View* few_labels = nullptr) {
    StageSeconds seconds;
    TestContext context{ClientId{2}, data, few_labels, Rng(seed), trainer, seconds};
    return loop->algorithm().predictor(policy, context)->sources();
  }

  ToyRun run;
  test::ToyEngine engine;
  Trainer trainer;
  std::optional<RoundLoop> loop;
};

TEST_F(ServingTest, KnownAssociationIsTheClientsOwnModel) {
  play();
  EXPECT_EQ(sources(TestPolicy::known_association), (ModelShares{{{ClientId{2}, 5}, 1.0}}));
}

TEST_F(ServingTest, NearestIsOneModelAndNativeAverages) {
  play("mapping.width = 5.0");
  ASSERT_EQ(sources(TestPolicy::nearest_signature).size(), 1U);
  EXPECT_EQ(sources(TestPolicy::nearest_signature).begin()->second, 1);
  const auto native = sources(TestPolicy::native);
  EXPECT_GT(native.size(), 1U);
  double total = 0;
  for (const auto& [client, weight] : native) {
    total += weight;
  }
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST_F(ServingTest, NativeComparesOnlyWhatNeedsNoLabels) {
  const Algorithm& algorithm = play("mapping.width = 5.0");
  FeromaOptions options;
  options.width = 5;
  const ProfileShape shape = profile_shape(options, run.model);
  std::vector<Parent> parents;
  for (const ServedModel& served : algorithm.served()) {
    const std::int64_t samples = static_cast<std::int64_t>(run.federation.shard(*served.client, 5).train.size() +
                                                           run.federation.shard(*served.client, 5).held_out.size());
    parents.push_back({*served.client, served.model, decode(served.profile, shape, samples), served.num_examples});
  }
  const TestShard shard = run.federation.test(ClientId{2}, kFewLabels);
  const Extractor extractor = extractor_from(algorithm.downlink(6, 0, ClientId{99}), run.model.input.size());
  const EncodedSamples samples = encode_samples(options, extractor.encoder, trainer, shard.data, false);
  const Profile query = extract_profile(options, extractor, samples, 10, Subsampling::off, Rng(1));
  const auto expected = assignment_weights(options, AssignRule::kernel, shape, {}, query, parents, true);
  const auto weights = sources(TestPolicy::native);
  for (std::uint32_t k = 0; k < 6; ++k) {
    EXPECT_DOUBLE_EQ(weights.at({ClientId{k}, 5}), expected[k]);
  }
}

TEST_F(ServingTest, AStrangerGetsTheModelsThatAreSureOfItsData) {
  View data = run.federation.test(ClientId{2}, kFewLabels).data;
  play("assign.strangers = 'profile'");
  const ModelShares known = sources_for(data, TestPolicy::native);
  const std::vector<InputScale> bright(3, InputScale{1.0F, 5.0F});  // like nothing that anybody trained on
  View strange = data;
  strange.scales = bright;
  const ModelShares by_profile = sources_for(strange, TestPolicy::native);
  const Algorithm& algorithm = play();
  EXPECT_EQ(sources_for(data, TestPolicy::native), known) << "a known distribution is served as ever";
  const auto entropy = [](double p) { return p > 0 ? -p * std::log(p) : 0.0; };
  std::vector<double> costs;  // unsure of the samples, or sure of one class for all of them
  std::vector<ModelSource> names;
  for (const ServedModel& served : algorithm.served()) {
    const std::vector<float> probabilities = trainer.probabilities(*served.model, strange);
    const auto count = static_cast<double>(strange.size());
    double cost = 0;
    for (std::size_t u = 0; u < 10; ++u) {
      double sum = 0;
      for (std::size_t i = 0; i < strange.size(); ++i) {
        const auto p = static_cast<double>(probabilities[i * 10 + u]);
        cost += entropy(p) / count;
        sum += p;
      }
      cost -= entropy(sum / count);
    }
    costs.push_back(cost);
    names.push_back({*served.client, served.round});
  }
  const std::vector<double> expected = softmax_weights(costs, 0.02);
  const ModelShares by_confidence = sources_for(strange, TestPolicy::native);
  EXPECT_NE(by_confidence, by_profile);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto found = by_confidence.find(names[i]);
    EXPECT_NEAR(found == by_confidence.end() ? 0.0 : found->second, expected[i], 1e-5);
  }
}

TEST_F(ServingTest, AVisitorLikeNobodyIsOfferedAMixtureUnlessItHasFewLabels) {
  const std::vector<InputScale> bright(3, InputScale{1.0F, 5.0F});  // like nothing that anybody trained on
  View strange = run.federation.test(ClientId{2}, kFewLabels).data;
  strange.scales = bright;
  const Algorithm& algorithm = play();
  StageSeconds seconds;
  TestContext context{ClientId{2}, strange, nullptr, Rng(1), trainer, seconds};
  const Message told = algorithm.visitor_profile(algorithm.visitor_question(), context);
  const Offer offer = algorithm.offer(told, {.few_labels = false, .candidates = 3}).value();
  EXPECT_EQ(offer.choice, Choice::as_offered);
  ASSERT_EQ(offer.models.size(), 1U) << "what single clients learned stays with the server";
  EXPECT_NE(offer.sources.front(), sources_for(strange, TestPolicy::native)) << "a test client here may be shown all";
  const Offer few = algorithm.offer(told, {.few_labels = true, .candidates = 3}).value();
  EXPECT_EQ(few.choice, Choice::by_labels);
  EXPECT_EQ(few.models.size(), 3U);
  play("assign.strangers = 'profile'");
  EXPECT_EQ(offer.sources.front(), sources_for(strange, TestPolicy::native));
}

TEST_F(ServingTest, ATestProfileSummarisesAllDataWhateverTheSubsampling) {
  play("profile.subsampling = 'halves'\nmapping.width = 5.0");
  EXPECT_EQ(sources(TestPolicy::native, 1), sources(TestPolicy::native, 2));
}

TEST_F(ServingTest, ATestProfileIsSubsampledWhereThatIsAskedFor) {
  play("profile.subsampling = 'bernoulli'\nprofile.subsample_test = true\nmapping.width = 5.0");
  EXPECT_EQ(sources(TestPolicy::native, 1), sources(TestPolicy::native, 1));
  EXPECT_NE(sources(TestPolicy::native, 1), sources(TestPolicy::native, 2));
}

TEST_F(ServingTest, FewLabelsWeighModelsByTheirLossOnThem) {
  const Algorithm& algorithm = play("assign.loss_temperature = 2.0");
  const View few = run.federation.shard(ClientId{4}, 1).held_out;
  std::vector<double> losses;
  for (const ServedModel& served : algorithm.served()) {
    losses.push_back(trainer.evaluate(*served.model, few).loss());
  }
  const std::vector<double> expected = softmax_weights(losses, 2);
  const auto weights = sources(TestPolicy::few_label, 1, &few);
  for (std::uint32_t k = 0; k < 6; ++k) {
    EXPECT_DOUBLE_EQ(weights.at({ClientId{k}, 5}), expected[k]);
  }
}

class ConceptServingTest : public ServingTest {
 protected:
  ConceptServingTest() : ServingTest(Shift::concept_label) {}
};

// Label permutations leave the pictures alone, so only the class part of the profile can tell them apart.
TEST_F(ConceptServingTest, FewLabelMomentsFindTheLabelPermutation) {
  play("assign.few_label = 'moments'");
  const Schedule& schedule = run.federation.schedule();
  std::set<int> seen;
  for (std::uint32_t k = 0; k < 6; ++k) {
    const ClientShard shard = run.federation.shard(ClientId{k}, 5);
    const auto chosen = sources(TestPolicy::few_label, 1, &shard.train);
    ASSERT_EQ(chosen.size(), 1U);
    EXPECT_EQ(schedule.ids[to_index(chosen.begin()->first.client)].back(), shard.distribution) << "client " << k;
    seen.insert(shard.distribution);
  }
  EXPECT_GT(seen.size(), 1U);
}

}  // namespace
}  // namespace feroma
