#include "feroma/algorithms/apfl.h"

#include <gtest/gtest.h>

#include "feroma/algorithms/fedavg.h"
#include "tests/algorithms/one_client.h"
#include "tests/algorithms/slopes.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::bits_of;
using test::OneClient;
using test::ToyRun;

float alpha_of(const OneClient& client) { return client.memory().floats("alpha").at(0); }

ApflOptions with_alpha(double alpha) {
  ApflOptions options;
  options.alpha = alpha;
  return options;
}

TEST(Apfl, SharedModelsAreThoseOfFedAvg) {
  for (const char* reset : {"round", "epoch"}) {
    ToyRun run;
    const std::string momentum = std::string("\nmomentum_reset = '") + reset + "'";
    RoundLoop fedavg = run.loop("name = 'fedavg'" + momentum);
    RoundLoop apfl = run.loop("name = 'apfl'\nalpha_update = 'step'" + momentum);
    while (fedavg.finished_rounds() < fedavg.rounds()) {
      static_cast<void>(fedavg.play_round());
      static_cast<void>(apfl.play_round());
      ASSERT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(apfl.algorithm()));
    }
  }
}

TEST(Apfl, AlphaMovesAgainstTheSlopeOfTheMixturesLoss) {
  // On one large batch without momentum, the second round's alpha step is rate * d loss / d alpha at its start.
  const FitOptions fit{1, 100000, 0.5, 0, MomentumReset::round};
  ApflOptions options = with_alpha(0.4);
  options.alpha_rate = 0.05;
  OneClient client(make_apfl(options), fit);
  static_cast<void>(client.play(1));
  const float before = alpha_of(client);
  EXPECT_FLOAT_EQ(before, 0.4F);  // both models began as one, so the first slope is zero
  const ParametersPtr own = client.memory().model("private");
  const ParametersPtr shared = client.algorithm->served()[0].model;
  const View train = client.run.federation.shard(ClientId{0}, 2).train;
  const Batch batch = test::first_samples(train, train.size());
  const double slope = test::exact_slope(
      [&](double alpha) {
        std::vector<double> mixed = test::doubles(own->values());
        for (std::size_t i = 0; i < mixed.size(); ++i) {
          mixed[i] = alpha * mixed[i] + (1 - alpha) * static_cast<double>(shared->values()[i]);
        }
        return test::exact_loss(mixed, batch);
      },
      static_cast<double>(before));
  static_cast<void>(client.play(2));
  EXPECT_GT(std::abs(slope), 1e-3);
  EXPECT_NEAR(alpha_of(client), 0.4 - 0.05 * slope, 0.05 * std::abs(slope) * 1e-4 + 1e-7);
}

float largest_difference(const Parameters& a, const Parameters& b) {
  float largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a.values()[i] - b.values()[i]));
  }
  return largest;
}

TEST(Apfl, ThePrivateModelFollowsTheMixturesGradient) {
  // One large batch without momentum: v' = v - 0.5 * 0.4 * grad l(u), where u = 0.4 v + 0.6 w. The first round leaves
  // alpha at 0.4; then another client's answer takes w to -3 v.
  const FitOptions fit{1, 100000, 0.5, 0, MomentumReset::round};
  OneClient client(make_apfl(with_alpha(0.4)), fit);
  static_cast<void>(client.play(1));
  ASSERT_FLOAT_EQ(alpha_of(client), 0.4F);
  const ParametersPtr v = client.memory().model("private");
  /// x + factor * y, value by value.
  const auto plus = [](const Parameters& x, float factor, const Parameters& y) {
    Parameters sum = x.clone();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum.values()[i] += factor * y.values()[i];
    }
    return sum;
  };
  const ParametersPtr w = share(plus(*v, -4, *v));
  test::deliver(*client.algorithm, 1, 0, {{ClientId{1}, {{{"model", w}, {"num_examples", Ints{5}}}}}});
  static_cast<void>(client.play(2));
  const ParametersPtr moved = client.memory().model("private");

  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  const ClientShard shard = client.run.federation.shard(ClientId{0}, 2);
  const auto gradient_at = [&](const Parameters& point) {
    Parameters model = point.clone();
    Parameters gradient = point.clone();
    trainer.for_each_minibatch(shard.train, fit, Rng(1),
                               [&](const Batch& batch) { trainer.gradient(model, batch, gradient.values()); });
    return gradient;
  };
  const auto mixed_with = [&](const Parameters& shared) { return plus(plus(*v, -0.6F, *v), 0.6F, shared); };
  const Parameters at_u = gradient_at(mixed_with(*w));
  const Parameters at_v = gradient_at(*v);
  const Parameters at_w = gradient_at(*w);
  EXPECT_LT(largest_difference(*moved, plus(*v, -0.5F * 0.4F, at_u)), 1e-6F);
  const auto expect_elsewhere = [&](const Parameters& model, std::string_view mistake) {
    EXPECT_GT(largest_difference(*moved, model), 1e-3F) << mistake;
  };
  expect_elsewhere(plus(*v, -0.5F, at_u), "without alpha");
  expect_elsewhere(plus(*v, -0.5F * 0.4F * 0.4F, at_u), "alpha squared");
  expect_elsewhere(plus(*v, -0.5F * 0.4F, at_v), "the gradient at v");
  expect_elsewhere(plus(plus(*v, -0.5F * 0.4F, at_v), -0.5F * 0.6F, at_w), "the gradients at v and w, mixed");
  expect_elsewhere(plus(*v, -0.5F * 0.4F, gradient_at(mixed_with(plus(*w, -0.5F, at_w)))), "u with w after its step");
}

TEST(Apfl, AlphaZeroLeavesThePrivateModelAloneAndServesTheSharedOne) {
  OneClient client(make_apfl(with_alpha(0)));
  const auto initial = bits_of(client.algorithm->served()[0].model);
  static_cast<void>(client.play());
  EXPECT_EQ(bits_of(client.memory().model("private")), initial);
  const ClientShard shard = client.run.federation.shard(ClientId{0}, 1);
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  const auto mixture = client.algorithm->personal(client.memory());
  const auto shared = make_single_model_predictor(client.algorithm->served()[0].model);
  EXPECT_EQ(mixture->predict(trainer, shard.held_out), shared->predict(trainer, shard.held_out));
}

TEST(Apfl, AlphaOneServesThePrivateModelWhateverTheSharedOneIs) {
  ApflOptions options = with_alpha(1);
  options.alpha_rate = 1e-12;
  OneClient client(make_apfl(options));
  static_cast<void>(client.play());
  const ClientShard shard = client.run.federation.shard(ClientId{0}, 1);
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  const auto mixture = client.algorithm->personal(client.memory());
  const auto own = make_single_model_predictor(client.memory().model("private"));
  EXPECT_EQ(mixture->predict(trainer, shard.held_out), own->predict(trainer, shard.held_out));
}

TEST(Apfl, AtAlphaOneClientsAreOnTheirOwn) {
  ToyRun run(test::concept_scenario());
  RoundLoop apfl = run.loop("name = 'apfl'\nalpha = 1.0\nalpha_update = 'never'");
  RoundLoop local = run.loop("name = 'local'");
  test::play_all(apfl);
  test::play_all(local);
  test::RememberedBits own = test::remembered_bits(local);
  ASSERT_FALSE(own.empty());
  for (auto& [client, memory] : test::remembered_bits(apfl)) {
    EXPECT_EQ(memory.at("private"), own.at(client).at("model")) << to_index(client);
    EXPECT_EQ(memory.at("alpha"), std::vector<double>{1});
  }
  EXPECT_EQ(apfl.evaluate().accuracy_known, local.evaluate().accuracy_known);
}

TEST(Apfl, ClientsStartHalfOnTheirOwnAsTheAuthorsDo) {
  ToyRun run(test::concept_scenario());
  RoundLoop usual = run.loop("name = 'apfl'");
  RoundLoop half = run.loop("name = 'apfl'\nalpha = 0.5");
  RoundLoop own = run.loop("name = 'apfl'\nalpha = 1.0");
  test::play_all(usual);
  test::play_all(half);
  test::play_all(own);
  EXPECT_EQ(test::remembered_bits(usual), test::remembered_bits(half));
  EXPECT_NE(test::remembered_bits(usual), test::remembered_bits(own));
}

TEST(Apfl, AlphaStaysBetweenZeroAndOne) {
  ApflOptions options = with_alpha(0.5);
  options.alpha_rate = 1000;
  options.alpha_update = AlphaUpdate::step;
  OneClient client(make_apfl(options));
  for (Round round = 1; round <= 3; ++round) {
    static_cast<void>(client.play(round));
    EXPECT_GE(alpha_of(client), 0);
    EXPECT_LE(alpha_of(client), 1);
  }
  EXPECT_TRUE(alpha_of(client) == 0 || alpha_of(client) == 1);
}

TEST(Apfl, CostsOneModelEachWayAndTwoGradientsPerSample) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'apfl'");
  const RoundRecord record = loop.play_round();
  const auto model_bytes = static_cast<std::int64_t>(4 * make_layout(run.model)->size);
  EXPECT_EQ(record.bytes_down, 6 * model_bytes);
  EXPECT_EQ(record.bytes_up, 6 * (model_bytes + 8));
  EXPECT_EQ(loop.totals().passes.backward, 2 * 2 * loop.totals().samples_held);
}

TEST(Apfl, FixedHalfTrainsBothModelsForFourEpochsAndAveragesPredictions) {
  ToyRun run;
  RoundLoop loop = run.loop("name = 'apfl'\nvariant = 'fixed_half'");
  static_cast<void>(loop.play_round());
  EXPECT_EQ(loop.totals().passes.backward, 2 * 4 * loop.totals().samples_held);

  ApflOptions options;
  options.variant = ApflVariant::fixed_half;
  OneClient client(make_apfl(options));
  static_cast<void>(client.play());
  EXPECT_EQ(alpha_of(client), 0.5F);
  const ClientShard shard = client.run.federation.shard(ClientId{0}, 1);
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  const auto both = client.algorithm->personal(client.memory())->predict(trainer, shard.held_out);
  const auto own = trainer.probabilities(*client.memory().model("private"), shard.held_out);
  const auto shared = trainer.probabilities(*client.algorithm->served()[0].model, shard.held_out);
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_NEAR(both[i], 0.5F * (own[i] + shared[i]), 1e-6);
  }
}

TEST(Apfl, FixedHalfMovesThePrivateModelHalfWay) {
  // Loss (1/2)|p - 3|^2, halved, one step of rate 0.5: a model goes from p to p + 0.25 (3 - p).
  const auto stepped = [](float p) { return p + 0.25F * (3 - p); };
  ApflOptions options;
  options.variant = ApflVariant::fixed_half;
  OneClient client(make_apfl(options), {1, 100000, 0.5, 0, MomentumReset::round}, test::make_quadratic(1, 3));
  static_cast<void>(client.play(1));
  const std::vector<float> own = bits_of(client.memory().model("private"));
  Parameters elsewhere = client.algorithm->served()[0].model->clone();
  std::fill(elsewhere.values().begin(), elsewhere.values().end(), 10.0F);
  std::map<ClientId, Message> answers{
      {ClientId{1}, {{{"model", share(std::move(elsewhere))}, {"num_examples", Ints{5}}}}}};
  StageSeconds seconds;
  client.algorithm->uplink(1, 0, answers, seconds);
  const Message answer = client.play(2);
  EXPECT_NEAR(answer.model("model")->values()[0], stepped(10), 1e-5);
  const std::vector<float> moved = bits_of(client.memory().model("private"));
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_NEAR(moved[i], 0.5F * (stepped(own[i]) + stepped(10)), 1e-5);
  }
}

TEST(Apfl, MixturesLearnWhatOneModelCannot) {
  ToyRun run(test::lasting_concepts());
  RoundLoop shared = run.loop("name = 'fedavg'");
  test::play_all(shared);
  const double alone = *shared.evaluate().accuracy_known;
  for (const char* variant : {"learned", "fixed_half"}) {
    RoundLoop loop = run.loop(std::string("name = 'apfl'\nvariant = '") + variant + "'");
    test::play_all(loop);
    const ResultRecord result = loop.evaluate();
    ASSERT_TRUE(result.accuracy_known);
    EXPECT_GT(*result.accuracy_known, alone + 10) << variant;
    EXPECT_TRUE(result.accuracy_personal);
  }
}

TEST(Apfl, EveryOptionChangesSomething) {
  ToyRun run(test::concept_scenario());
  const auto known = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'apfl'\n" + options);
    static_cast<void>(loop.play_round());
    static_cast<void>(loop.play_round());
    const RoundRecord last = loop.play_round();
    return std::pair(last.validation_loss, test::served_bits(loop.algorithm()));
  };
  const auto usual = known("");
  for (const char* change : {"variant = 'fixed_half'", "alpha = 0.9", "alpha_rate = 0.01", "alpha_update = 'step'",
                             "alpha_update = 'never'", "momentum_reset = 'epoch'"}) {
    EXPECT_NE(known(change), usual) << change;
  }
}

TEST(Apfl, StrangersMayGetTheMeanWithAnUntrainedModel) {
  ToyRun run(test::concept_scenario());
  const auto score = [&](const std::string& options) {
    RoundLoop loop = run.loop("name = 'apfl'\n" + options);
    test::play_all(loop);
    return std::pair(loop.evaluate(), test::served_bits(loop.algorithm()));
  };
  const auto [usual, usual_bits] = score("");
  const auto [noisy, noisy_bits] = score("strangers = 'with_untrained'");
  EXPECT_EQ(usual_bits, noisy_bits) << "training is the same";
  EXPECT_EQ(usual.accuracy_known, noisy.accuracy_known) << "who is known has a model of its own";

  ApflOptions options;
  options.strangers = ApflStrangers::with_untrained;
  OneClient client(make_apfl(options));
  const ClientShard shard = client.run.federation.shard(ClientId{0}, 1);
  test::ToyEngine engine(client.run.model);
  Trainer trainer(engine);
  StageSeconds seconds;
  TestContext stranger{ClientId{9}, shard.held_out, nullptr, Rng(1), trainer, seconds};
  const Parameters untrained = initialise(client.run.model, Rng(42).derive("server").derive("second learner"));
  const auto both = client.algorithm->predictor(TestPolicy::native, stranger)->predict(trainer, shard.held_out);
  const auto noise = trainer.probabilities(untrained, shard.held_out);
  const auto shared = trainer.probabilities(*client.algorithm->served()[0].model, shard.held_out);
  for (std::size_t i = 0; i < both.size(); ++i) {
    EXPECT_NEAR(both[i], 0.5F * (noise[i] + shared[i]), 1e-6);
  }
}

TEST(Apfl, RefusesOptionsThatWouldBeIgnored) {
  ToyRun run;
  for (const char* change : {"alpha = 0.9", "alpha_rate = 0.5", "alpha_update = 'step'"}) {
    expect_error(ErrorCode::invalid_config, "would be ignored: it needs variant learned",
                 [&] { return run.loop(std::string("name = 'apfl'\nvariant = 'fixed_half'\n") + change).rounds(); });
  }
}

TEST(Apfl, RefusesARateForAShareThatIsNeverLearned) {
  ToyRun run;
  expect_error(ErrorCode::invalid_config, "alpha_rate would be ignored: it needs alpha_update round or step",
               [&] { return run.loop("name = 'apfl'\nalpha_rate = 0.5\nalpha_update = 'never'").rounds(); });
}

TEST(Apfl, PersonalScoresAreTheSameAfterAResume) {
  ToyRun run(test::concept_scenario());
  RoundLoop whole = run.loop("name = 'apfl'\nalpha_update = 'step'");
  test::play_all(whole);
  RoundLoop first = run.loop("name = 'apfl'\nalpha_update = 'step'");
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  RoundLoop second = run.loop("name = 'apfl'\nalpha_update = 'step'");
  second.load(first.save(), "checkpoint");
  test::play_all(second);
  EXPECT_EQ(*whole.evaluate().accuracy_known, *second.evaluate().accuracy_known);
  EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
}

}  // namespace
}  // namespace feroma
