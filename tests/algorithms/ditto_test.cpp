#include "feroma/algorithms/ditto.h"

#include <gtest/gtest.h>

#include "tests/algorithms/one_client.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

TEST(Ditto, SharedModelsAreThoseOfFedAvg) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop ditto = run.loop("name = 'ditto'");
  test::play_all(fedavg);
  test::play_all(ditto);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(ditto.algorithm()));
}

TEST(Ditto, PersonalModelSettlesBetweenItsOwnMinimumAndTheSharedModel) {
  // min (a/2)(v - c)^2 + (lambda/2)(v - w)^2 is at (a c + lambda w) / (a + lambda); a = 1, c = 2, lambda = 3.
  DittoOptions options;
  options.lambda = 3;
  options.personal_epochs = 200;
  OneClient client(make_ditto(options), {1, 100000, 0.1, 0, MomentumReset::round}, test::make_quadratic(1, 2));
  const std::vector<float> w = test::served_bits(*client.algorithm);
  static_cast<void>(client.play());
  const std::vector<float> personal = bits_of(client.memory().model("personal"));
  for (std::size_t i = 0; i < w.size(); ++i) {
    EXPECT_NEAR(personal[i], (2 + 3 * w[i]) / 4, 1e-5);
  }
}

TEST(Ditto, PersonalModelsLearnWhatOneModelCannot) {
  ToyRun run(test::lasting_concepts());
  RoundLoop shared = run.loop("name = 'fedavg'");
  test::play_all(shared);
  RoundLoop loop = run.loop("name = 'ditto'\nlambda = 0.01");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  ASSERT_TRUE(result.accuracy_known);
  EXPECT_GT(*result.accuracy_known, *shared.evaluate().accuracy_known + 10);
  EXPECT_TRUE(result.accuracy_personal);
}

/// On a flat loss all that is left is the pull: with momentum m it settles below learning_rate * lambda = 2 (1 + m).
TEST(Ditto, RefusesAPullWhoseStepsCannotSettle) {
  ToyRun run;
  const auto refuses = [&](double lambda, const FitOptions& fit) {
    ServerContext server;
    server.model = run.model;
    server.initial = share(initialise(run.model, Rng(1)));
    server.fit = fit;
    expect_error(ErrorCode::invalid_config, "lambda times training.learning_rate must be < ", [&] {
      make_ditto({.lambda = lambda})->init(server);
      return 0;
    });
  };
  const FitOptions plain{1, 16, 0.5, 0, MomentumReset::round};
  const FitOptions heavy{1, 16, 0.5, 0.9, MomentumReset::round};
  refuses(4, plain);
  refuses(7.6, heavy);
  const auto distance = [&](double lambda, const FitOptions& fit) {
    DittoOptions options;
    options.lambda = lambda;
    options.personal_epochs = 400;
    OneClient client(make_ditto(options), fit, test::make_quadratic(1e-6F, 2));
    const std::vector<float> w = test::served_bits(*client.algorithm);
    static_cast<void>(client.play());
    return std::abs(bits_of(client.memory().model("personal"))[0] - w[0]);
  };
  EXPECT_LT(distance(3.9, plain), 0.01F);
  EXPECT_LT(distance(7.5, heavy), 0.01F);
}

TEST(Ditto, EveryOptionChangesSomething) {
  ToyRun run;
  const auto loss = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'ditto'\n" + options);
    static_cast<void>(loop.play_round());
    return loop.play_round().validation_loss;
  };
  const double usual = loss("");
  for (const char* change : {"lambda = 1.0", "personal_epochs = 1", "momentum_reset = 'epoch'"}) {
    EXPECT_NE(loss(change), usual) << change;
  }
}

TEST(Ditto, CostsOneModelEachWayAndTwoTrainings) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'ditto'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 2 * 2 * loop.totals().samples_held);
}

TEST(Ditto, PersonalScoresAreTheSameAfterAResume) {
  ToyRun run(test::concept_scenario());
  RoundLoop whole = run.loop("name = 'ditto'");
  test::play_all(whole);
  RoundLoop first = run.loop("name = 'ditto'");
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  RoundLoop second = run.loop("name = 'ditto'");
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(*whole.evaluate().accuracy_known, *second.evaluate().accuracy_known);
}

}  // namespace
}  // namespace feroma
