#include "feroma/algorithms/foogd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "algorithms/score_network.h"
#include "algorithms/stein.h"
#include "feroma/metrics/auc.h"
#include "tests/algorithms/one_client.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::OneClient;
using test::ToyRun;

/// Something trainable below the latent, and smooth.
ModelSpec foogd_model() { return {"small", {3, 4, 4}, 10, {Flatten{}, Linear{"fc1", 12}, Elu{}, Linear{"fc2", 10}}}; }
test::MakeEngine native_foogd() {
  return [](const ModelSpec&) { return make_engine(EngineKind::native, foogd_model()); };
}

ServerContext foogd_context(const ModelSpec& model) {
  ServerContext server;
  server.model = model;
  server.initial = share(initialise(model, Rng(1)));
  server.fit = {1, 100000, 0.01, 0, MomentumReset::round};
  server.rng = Rng(2);
  return server;
}

TEST(Foogd, WithoutCopiesAndSteinTermIsFedAvgBitForBit) {
  for (const bool real : {false, true}) {
    const test::MakeEngine engine = real ? native_foogd() : test::make_toy_engine;
    ToyRun run(test::toy_scenario(), 1, engine);
    run.model = real ? foogd_model() : run.model;
    RoundLoop fedavg = run.loop("name = 'fedavg'");
    RoundLoop foogd = run.loop("name = 'foogd'\nstein_weight = 0\naugment = 'none'");
    RoundLoop other = run.loop("name = 'foogd'\nstein_weight = 0\naugment = 'none'\nscore_rate = 0.001");
    test::play_all(fedavg);
    test::play_all(foogd);
    test::play_all(other);
    EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(foogd.algorithm()));
    EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(other.algorithm()));
    EXPECT_EQ(fedavg.totals().passes.forward, foogd.totals().passes.forward);
    EXPECT_NE(foogd.algorithm().downlink(9, 0, ClientId{0}).floats("score"),
              other.algorithm().downlink(9, 0, ClientId{0}).floats("score"));
  }
}

TEST(Foogd, TheStepIsTheGradientOfBothTerms) {
  // One step over few data without momentum and copies: what moved, over the learning rate, is the gradient.
  ToyRun run(test::toy_scenario(), 1, native_foogd());
  run.model = foogd_model();
  FoogdOptions options;
  options.augment = Augmentation::none;
  options.stein_weight = 30;
  options.sample_weight = 0;
  options.score_width = 6;
  options.kernel_gradients = KernelGradients::follow;  // what finite differences see
  const auto algorithm = make_foogd(options);
  const ServerContext server = foogd_context(run.model);
  algorithm->init(server);
  const Floats score = algorithm->downlink(1, 0, ClientId{0}).floats("score");
  SimulatedPool pool(run.federation, run.workers, Rng(42), run.stop);
  const std::vector<ClientId> one{ClientId{0}};
  const ParametersPtr before = server.initial;
  const ParametersPtr after =
      std::get<ClientAnswer>(pool.exchange(*algorithm, 1, 0, one).at(ClientId{0}).answer).message.model("model");
  const View train = run.federation.shard(ClientId{0}, 1).train;
  const auto engine = make_engine(EngineKind::native, foogd_model());
  Trainer trainer(*engine);
  const ScoreNetwork network(12, 6);
  double kernel = 0;
  const auto objective = [&](const Parameters& params) {
    std::vector<float> latents;
    trainer.latents(params, train, Latent::penultimate, [&](std::span<const float> rows, int, const Batch&) {
      latents.insert(latents.end(), rows.begin(), rows.end());
    });
    kernel = kernel > 0 ? kernel : std::max(stein_width(latents, latents, 12), 1.0);  // a constant of the step
    const std::vector<float> scores = network.forward(score, latents).out;
    return trainer.evaluate(params, train).loss() +
           30 * stein_discrepancy({latents, scores, latents, scores, 12}, kernel).value;
  };
  static_cast<void>(objective(*before));
  double largest = 0;
  for (const std::size_t place : {0U, 5U, 37U, 300U, 560U, 580U, 600U, 700U}) {
    constexpr float kStep = 0.01F;
    Parameters more = before->clone();
    Parameters less = before->clone();
    more.values()[place] += kStep;
    less.values()[place] -= kStep;
    const double slope = (objective(more) - objective(less)) / (2.0 * static_cast<double>(kStep));
    const double moved = (static_cast<double>(before->values()[place]) - static_cast<double>(after->values()[place]));
    EXPECT_NEAR(moved / 0.01, slope, 0.02 * std::abs(slope) + 2e-3) << place;
    largest = std::max(largest, std::abs(slope));
  }
  EXPECT_GT(largest, 0.02);
}

// Turned as nobody's are, pictures have scores that are longer; those of one distribution are alike.
TEST(Foogd, TellsStrangersByTheLengthOfTheirScores) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.unseen_rate = 0.5;
  ToyRun run(scenario, 1, native_foogd());
  run.model = foogd_model();
  RoundLoop loop = run.loop("name = 'foogd'\nscore_rate = 0.1");
  EXPECT_EQ(loop.evaluate().detection_auroc, std::nullopt) << "nothing was trained on yet";
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().detection_auroc.value_or(0), 0.85);
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(fedavg);
  EXPECT_EQ(fedavg.evaluate().detection_auroc, std::nullopt) << "it has no such measure";

  const auto engine = make_engine(EngineKind::native, foogd_model());
  Trainer trainer(*engine);
  const Message sent = loop.algorithm().downlink(9, 0, ClientId{0});
  std::vector<double> first;
  std::vector<double> second;
  for (std::uint32_t client = 0; client < 6; ++client) {
    const View view = run.federation.test(ClientId{client}, 0).data;
    const std::vector<double> lengths = loop.algorithm().strangeness(trainer, view);
    ASSERT_EQ(lengths.size(), view.size());
    std::size_t at = 0;
    trainer.latents(*sent.model("model"), view, Latent::penultimate,
                    [&](std::span<const float> rows, int width, const Batch&) {
                      const std::vector<float> scores = ScoreNetwork(12, 64).forward(sent.floats("score"), rows).out;
                      for (std::size_t row = 0; row < scores.size(); row += static_cast<std::size_t>(width)) {
                        double squared = 0;
                        for (std::size_t i = row; i < row + static_cast<std::size_t>(width); ++i) {
                          squared += static_cast<double>(scores[i]) * static_cast<double>(scores[i]);
                        }
                        EXPECT_NEAR(lengths[at++], std::sqrt(squared), 1e-6);
                      }
                    });
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      (i % 2 == 0 ? first : second).push_back(lengths[i]);
    }
  }
  EXPECT_NEAR(area_under_curve(first, second).value_or(0), 0.5, 0.08);
}

TEST(Foogd, LeNet5CostsTheModelAndTheScoreNetworkBothWays) {
  const auto algorithm = make_foogd({});
  algorithm->init(foogd_context(lenet5({1, 28, 28}, 10)));
  constexpr std::int64_t kScore = 84 * 64 + 3 * 64 + 64 * 84 + 84;
  EXPECT_EQ(algorithm->downlink(1, 0, ClientId{0}).bytes(), 4 * (61706 + kScore));
}

TEST(Foogd, AnswersAndPassesCostWhatTheySay) {
  OneClient client(make_foogd({}));
  const Message down = client.algorithm->downlink(1, 0, ClientId{0});
  const ClientOutcome outcome = client.step(1);
  EXPECT_EQ(std::get<ClientAnswer>(outcome.answer).message.bytes(), down.bytes() + 8);  // and how many examples
  const auto held = static_cast<std::int64_t>(client.run.federation.shard(ClientId{0}, 1).train.size());
  EXPECT_EQ(outcome.passes.forward, 4 * held);  // two epochs of every sample and its copy
  EXPECT_EQ(outcome.passes.backward, 4 * held);
}

TEST(Foogd, BothNetworksAreMeansWeightedByExamples) {
  FoogdOptions options;
  options.score_width = 2;
  const auto algorithm = make_foogd(options);
  const ServerContext server = foogd_context(foogd_model());
  algorithm->init(server);
  const std::size_t size = algorithm->downlink(1, 0, ClientId{0}).floats("score").size();
  std::map<ClientId, Message> answers{
      {ClientId{0}, {{{"model", server.initial}, {"score", Floats(size, 1)}, {"num_examples", Ints{30}}}}},
      {ClientId{1}, {{{"model", server.initial}, {"score", Floats(size, 5)}, {"num_examples", Ints{10}}}}}};
  StageSeconds seconds;
  algorithm->uplink(1, 0, answers, seconds);
  EXPECT_EQ(algorithm->downlink(2, 0, ClientId{0}).floats("score"), Floats(size, 2));
  std::map<ClientId, Message> nobody;
  algorithm->uplink(2, 0, nobody, seconds);
  EXPECT_EQ(algorithm->downlink(3, 0, ClientId{0}).floats("score"), Floats(size, 2));
  for (const Floats& bad : {Floats(size - 1, 1), Floats(size, std::numeric_limits<float>::quiet_NaN())}) {
    std::map<ClientId, Message> wrong{
        {ClientId{0}, {{{"model", server.initial}, {"score", bad}, {"num_examples", Ints{30}}}}}};
    expect_error(ErrorCode::invalid_data, "[foogd]", [&] {
      test::deliver(*algorithm, 3, 0, wrong);
      return 0;
    });
  }
}

TEST(Foogd, RefusesDataItCannotServeBeforeARunBegins) {
  const auto refuses = [](const FoogdOptions& options, const ServerContext& server) {
    expect_error(ErrorCode::unsupported, "[foogd]", [&] {
      make_foogd(options)->init(server);
      return 0;
    });
  };
  ServerContext signals = foogd_context(har_cnn({9, 1, 128}, 6));
  refuses({}, signals);
  FoogdOptions bare;
  bare.augment = Augmentation::none;
  make_foogd(bare)->init(signals);
  signals.multi_label = true;
  refuses(bare, signals);
}

TEST(Foogd, LearnsOnARealEngine) {
  ToyRun run(test::toy_scenario(), 1, native_foogd());
  run.model = foogd_model();
  RoundLoop loop = run.loop("name = 'foogd'");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  const double untrained = loop.evaluate().accuracy;
  test::play_all(loop);
  test::play_all(fedavg);
  EXPECT_GT(loop.evaluate().accuracy, untrained + 0.7 * (fedavg.evaluate().accuracy - untrained));
}

TEST(Foogd, EveryOptionActs) {
  const auto trained = [](const std::string& options) {
    ToyRun run(test::toy_scenario(), 1, native_foogd());
    run.model = foogd_model();
    RoundLoop loop = run.loop("name = 'foogd'\n" + options);
    static_cast<void>(loop.play_round());
    return test::served_bits(loop.algorithm());
  };
  const std::vector<float> plain = trained("");
  for (const std::string option :
       {"momentum_reset = 'epoch'", "stein_weight = 0.5", "sample_weight = 5.0", "augment = 'none'",
        "amplitude_share = 0.3", "score_width = 8", "score_rate = 0.1", "score_target = 'scaled'",
        "smallest_noise = 0.1", "largest_noise = 2.0", "smallest_kernel = 3.0", "kernel_gradients = 'follow'",
        "kernel_gradients = 'trace'", "samples = 4", "sampler_steps = 3", "sampler_rate = 0.1"}) {
    EXPECT_NE(trained(option), plain) << option;
  }
}

TEST(Foogd, RefusesOptionsThatWouldDoNothing) {
  ToyRun run;
  const auto refuses = [&](const std::string& options, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop("name = 'foogd'\n" + options).rounds(); });
  };
  refuses("augment = 'none'\namplitude_share = 0.5", "amplitude_share would be ignored");
  refuses("sample_weight = 0\nsamples = 3", "samples would be ignored");
  refuses("stein_weight = 0\nsmallest_kernel = 3.0", "smallest_kernel would be ignored");
  refuses("stein_weight = 0\nkernel_gradients = 'follow'", "kernel_gradients would be ignored");
  refuses("sample_weight = 0\nsampler_steps = 3", "sampler_steps would be ignored");
  refuses("sample_weight = 0\nsampler_rate = 0.5", "sampler_rate would be ignored");
  refuses("smallest_noise = 2.0", "largest_noise must be >= smallest_noise");
}

}  // namespace
}  // namespace feroma
