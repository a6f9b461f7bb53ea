#include "feroma/algorithms/feroma.h"

#include <gtest/gtest.h>

#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::ToyRun;

std::vector<float> bits_after(const std::string& algorithm, ScenarioOptions scenario = test::toy_scenario()) {
  ToyRun run(scenario);
  RoundLoop loop = run.loop(algorithm);
  test::play_all(loop);
  return test::served_bits(loop.algorithm());
}

TEST(Feroma, WarmUpIsFedAvgBitForBit) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop feroma = run.loop("name = 'feroma'\nwarmup_rounds = 5\nserver_momentum = 0");
  test::play_all(fedavg);
  test::play_all(feroma);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(feroma.algorithm()));
}

// Uniform weights mix every client's model by sample counts, so what each client receives is FedAvg's global model.
TEST(Feroma, UniformKernelSendsFedAvgsModelBitForBit) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop uniform = run.loop("name = 'feroma'\nwarmup_rounds = 2\nmapping.kernel = 'uniform'\nserver_momentum = 0");
  for (int round = 1; round <= 5; ++round) {
    const RoundRecord a = fedavg.play_round();
    const RoundRecord b = uniform.play_round();
    ASSERT_EQ(a.clients.size(), b.clients.size());
    for (std::size_t i = 0; i < a.clients.size(); ++i) {
      EXPECT_EQ(a.clients[i].loss, b.clients[i].loss) << "round " << round << " client " << i;
      EXPECT_EQ(a.clients[i].accuracy_before, b.clients[i].accuracy_before);
    }
  }
}

TEST(Feroma, ProfilesStartAfterTheWarmUpAndMixingOneRoundLater) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 2");
  EXPECT_FALSE(loop.play_round().global_share);
  EXPECT_FALSE(loop.play_round().global_share);
  const RoundRecord first = loop.play_round();
  EXPECT_EQ(first.global_share, 1.0);  // profiles exist, parents do not
  EXPECT_FALSE(first.contraction);
  const RoundRecord second = loop.play_round();
  ASSERT_TRUE(second.contraction);
  const RoundTrace& trace = *loop.algorithm().trace();
  EXPECT_EQ(trace.mixing.rows, 6U);
  for (std::size_t r = 0; r < 6; ++r) {
    double sum = 0;
    for (const double weight : trace.mixing.row(r)) {
      sum += weight;
    }
    EXPECT_NEAR(sum, 1, 1e-12);
  }
}

TEST(Feroma, PaperPresetAsksForBoundsFirst) {
  const std::unique_ptr<Algorithm> paper = make_feroma(feroma_preset("paper"));
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feroma'\npreset = 'paper'\nwarmup_rounds = 2\nprofile.dimensions = 4");
  EXPECT_EQ(loop.algorithm().phases(1), 1);
  static_cast<void>(loop.play_round());
  static_cast<void>(loop.play_round());
  EXPECT_EQ(loop.algorithm().phases(3), 3);
  static_cast<void>(loop.play_round());
  EXPECT_EQ(loop.algorithm().phases(4), 2);
  test::play_all(loop);
  EXPECT_EQ(loop.algorithm().profile_floats(), 2 * 4 * (1 + 10));
}

// The toy model learns in one round, so nothing is gained after it.
TEST(Feroma, WarmUpEndsEarlyWhenNothingIsGained) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 8;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 7\nwarmup_auto = true");
  int warm = 0;
  while (loop.algorithm().phases(warm + 1) == 1) {
    static_cast<void>(loop.play_round());
    ++warm;
  }
  EXPECT_GE(warm, kShortestWarmup);
  EXPECT_LT(warm, 7);
}

TEST(Feroma, EncoderTravelsOncePerClient) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 1");
  const std::int64_t warm = loop.play_round().bytes_down;
  const std::int64_t first = loop.play_round().bytes_down;
  const std::int64_t later = loop.play_round().bytes_down;
  EXPECT_GT(first, 2 * warm);  // model, encoder and projector
  EXPECT_EQ(later, warm);      // the model only
}

TEST(Feroma, ServesEveryPolicyAfterProfilesExist) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 2");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_GT(result.accuracy, 60);
  EXPECT_TRUE(result.accuracy_known);
  EXPECT_TRUE(result.accuracy_few_label);
  EXPECT_TRUE(result.accuracy_nearest);
  EXPECT_TRUE(result.match_rate);
}

TEST(Feroma, StillWarmingUpServesTheGlobalModelAndSaysNotApplicable) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 9");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_GT(result.accuracy, 0);
  EXPECT_FALSE(result.accuracy_nearest);
  EXPECT_FALSE(result.accuracy_few_label);
}

TEST(Feroma, WorksWhenFewClientsTakePart) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.participation = 0.5;
  scenario.rounds = 6;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 2");
  test::play_all(loop);
  for (const ServedModel& served : loop.algorithm().served()) {
    EXPECT_TRUE(served.model->all_finite());
  }
  EXPECT_EQ(loop.algorithm().served().size(), 3U);
}

/// Every option must change something; the values are the ones that differ from preset auto.
class FeromaOption : public testing::TestWithParam<const char*> {};

TEST_P(FeromaOption, ChangesTheResult) {
  const std::string base = "name = 'feroma'\nwarmup_rounds = 2\n";
  EXPECT_NE(bits_after(base), bits_after(base + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    All, FeromaOption,
    testing::Values("momentum_reset = 'epoch'", "profile.encoder = 'input_moments'\nprofile.projection = 'pca_box'",
                    "profile.projection = 'pca_box'", "profile.projection = 'pca_cube'", "profile.dimensions = 3",
                    "profile.full_marginal = false", "profile.data = 'train'", "profile.data = 'held_out'",
                    "profile.max_samples = 10", "profile.subsampling = 'halves'", "profile.subsampling = 'bernoulli'",
                    "mapping.metric = 'cosine'", "mapping.kernel = 'softmax'", "mapping.kernel = 'inverse'",
                    "mapping.width = 5.0", "mapping.join = 'positional'"));

/// Options that act only beside another one.
struct Beside {
  const char* other;
  const char* option;
};
class FeromaSecondOption : public testing::TestWithParam<Beside> {};

TEST_P(FeromaSecondOption, ChangesTheResult) {
  const std::string base = std::string("name = 'feroma'\nwarmup_rounds = 2\n") + GetParam().other + "\n";
  EXPECT_NE(bits_after(base), bits_after(base + GetParam().option));
}

INSTANTIATE_TEST_SUITE_P(All, FeromaSecondOption,
                         testing::Values(Beside{"profile.subsampling = 'halves'", "profile.replicates = 5"},
                                         Beside{"profile.max_samples = 20", "profile.cache = false"},
                                         Beside{"mapping.metric = 'euclidean'", "mapping.scaling = 'min_max'"},
                                         Beside{"mapping.kernel = 'softmax'", "mapping.temperature = 0.01"},
                                         Beside{"mapping.kernel = 'inverse'", "mapping.threshold = 0.2"},
                                         Beside{"mapping.kernel = 'softmax'", "mapping.normalisation = 'sinkhorn'"}));

TEST(Feroma, ACachedProfileIsRenewedWithTheData) {
  const std::string base = "name = 'feroma'\nwarmup_rounds = 2\nprofile.max_samples = 0\n";
  EXPECT_EQ(bits_after(base), bits_after(base + "profile.cache = false"));  // nothing is random here
}

TEST(Feroma, FedAvgFtIsAutoWithUniformWeights) {
  EXPECT_EQ(bits_after("name = 'fedavg-ft'\nwarmup_rounds = 2"),
            bits_after("name = 'feroma'\nwarmup_rounds = 2\nmapping.kernel = 'uniform'\nserver_momentum = 0"));
}

TEST(Feroma, LatentOptionSelectsTheActivation) {
  FeromaOptions options;
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  const std::unique_ptr<Algorithm> flatten = make_feroma(options);
  options.latent = Latent::penultimate;
  const std::unique_ptr<Algorithm> penultimate = make_feroma(options);
  ServerContext server;
  server.model = model;
  server.initial = share(initialise(model, Rng(1)));
  flatten->init(server);
  penultimate->init(server);
  EXPECT_EQ(flatten->profile_floats(), 2 * 400 + 2 * 10 * 10 + 10);
  EXPECT_EQ(penultimate->profile_floats(), 2 * 84 + 2 * 10 * 10 + 10);
}

TEST(Feroma, AssignmentOptionsChangeWhatATestClientGets) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.shift = Shift::concept_label;
  ToyRun run(scenario);
  const auto result_of = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 2\n" + options);
    test::play_all(loop);
    return loop.evaluate();
  };
  const ResultRecord base = result_of("");
  EXPECT_NE(result_of("assign.rule = 'nearest'").accuracy, base.accuracy);
  EXPECT_NE(result_of("assign.width = 50.0").accuracy, base.accuracy);
  EXPECT_NE(result_of("assign.metric = 'euclidean'").accuracy, base.accuracy);
  EXPECT_NE(result_of("assign.few_label = 'moments'").accuracy_few_label, base.accuracy_few_label);
  EXPECT_NE(result_of("assign.loss_temperature = 50.0").accuracy_few_label, base.accuracy_few_label);
}

TEST(Feroma, MissingEncoderFileIsReported) {
  FeromaOptions options;
  options.encoder = "nowhere.safetensors";
  const std::unique_ptr<Algorithm> algorithm = make_feroma(options);
  ServerContext server;
  server.model = test::toy_model({1, 4, 4}, 10);
  server.initial = share(initialise(server.model, Rng(1)));
  server.load_model = [](const std::string& path) -> ParametersPtr { fail(ErrorCode::io, "{}: cannot read", path); };
  EXPECT_THROW(algorithm->init(server), Error);
}

// The client's part of what the server's messages by hand say.
TEST(Feroma, ARefreshedEncoderGivesOtherProfilesAndResumesToTheSameBits) {
  const std::string options =
      "name = 'feroma'\npreset = 'paper'\nwarmup_rounds = 1\nprofile.dimensions = 4\nprofile.encoder_refresh = ";
  const std::vector<float> never = bits_after(options + "0");
  EXPECT_EQ(bits_after(options + "9"), never) << "later than the last round";
  EXPECT_NE(bits_after(options + "1"), never);
  const std::vector<float> whole = bits_after(options + "1");
  for (int stop_after = 1; stop_after <= 4; ++stop_after) {
    ToyRun run;
    RoundLoop first = run.loop(options + "1");
    for (int round = 0; round < stop_after; ++round) {
      static_cast<void>(first.play_round());
    }
    RoundLoop second = run.loop(options + "1");
    second.load(first.save(), "checkpoint");
    test::play_all(second);
    EXPECT_EQ(test::served_bits(second.algorithm()), whole) << "resumed after round " << stop_after;
  }
}

}  // namespace
}  // namespace feroma
