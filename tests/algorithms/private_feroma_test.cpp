// Whole toy runs of Feroma with private profiles.
#include <gtest/gtest.h>

#include <set>

#include "feroma/algorithms/feroma.h"
#include "feroma/privacy/notice.h"
#include "tests/algorithms/private_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::gaussian_budget;
using test::PrivateRun;

// The toy model learns in one round: momentum, which is not told when that is so, would only lead it astray.
constexpr const char* kFeroma = "name = 'feroma'\nwarmup_rounds = 2\nprofile.dimensions = 4\nserver_momentum = 0";

// What exact profiles of the same features are worth, on test clients and where few labels choose.
std::pair<double, double> exact_accuracy() {
  test::ToyRun run;
  RoundLoop loop = run.loop(std::string(kFeroma) +
                            "\nprofile.unit_norm = true\nprofile.full_marginal = false\nprofile.max_samples = 0");
  test::play_all(loop);
  const ResultRecord result = loop.evaluate();
  return {result.accuracy, result.accuracy_few_label.value()};
}

TEST(PrivateFeroma, ServeEveryPolicyWithinTheBudget) {
  const auto [unlabelled, few_label] = exact_accuracy();
  for (const PrivacyMode mode : {PrivacyMode::gaussian, PrivacyMode::pure}) {
    PrivacyOptions privacy = gaussian_budget();
    privacy.mode = mode;
    PrivateRun run(privacy);
    RoundLoop loop = run.private_loop(kFeroma);
    EXPECT_EQ(loop.play_round().epsilon, 0) << "nothing is told in the warm-up";
    test::play_all(loop);
    const ResultRecord result = loop.evaluate();
    EXPECT_GT(result.accuracy, unlabelled - 10);
    EXPECT_GT(result.accuracy_few_label, few_label - 10);
    EXPECT_TRUE(result.accuracy_known);
    EXPECT_TRUE(result.accuracy_nearest);
    ASSERT_TRUE(result.epsilon);
    EXPECT_GT(*result.epsilon, 0);
    EXPECT_LE(*result.epsilon, privacy.epsilon_total);
    EXPECT_EQ(result.dp_guarantee, guarantee_of(privacy));
  }
}

/// What clients send in every exchange of a run.
std::vector<std::map<ClientId, Message>> traffic(const PrivacyOptions& privacy, const std::string& options = "") {
  PrivateRun run(privacy);
  RoundLoop::Setup setup = run.setup(kFeroma + ("\n" + options));
  setup.server.privacy = privacy;
  const test::TempFolder folder;
  Disclosures disclosures(privacy, folder.path(), "feroma", Rng(1));
  SimulatedPool pool(run.federation, run.workers, Rng(2), run.stop, std::nullopt, {}, &disclosures);
  const std::unique_ptr<Algorithm> algorithm = setup.plan.make();
  prepare(*algorithm, setup.server);
  std::vector<ClientId> clients;
  for (std::uint32_t i = 0; i < 6; ++i) {
    clients.push_back(static_cast<ClientId>(i));
  }
  std::vector<std::map<ClientId, Message>> sent;
  for (Round round = 1; round <= 5; ++round) {
    for (int phase = 0; phase < algorithm->phases(round); ++phase) {
      std::map<ClientId, Message>& answers = sent.emplace_back();
      for (const auto& [client, outcome] : pool.exchange(*algorithm, round, phase, clients)) {
        answers[client] = std::get<ClientAnswer>(outcome.answer).message;
      }
      test::deliver(*algorithm, round, phase, answers);
    }
  }
  return sent;
}

// Counts, losses and accuracies stay; whatever tells of data is whole numbers, as many of them for every client.
TEST(PrivateFeroma, NothingButModelsAndNoisySumsLeavesAClient) {
  PrivacyOptions histogram = gaussian_budget();
  histogram.bounds = BoundsRule::histogram;
  PrivacyOptions pure = gaussian_budget();
  pure.mode = PrivacyMode::pure;
  for (const PrivacyOptions& privacy : {gaussian_budget(), histogram, pure, gaussian_budget(/*releases=*/1)}) {
    const std::set<std::string> allowed{"model", "sums", "epoch", "norms", "spent"};
    std::set<std::string> seen;
    std::map<std::string, std::set<std::size_t>> lengths;
    for (const auto& exchange : traffic(privacy)) {
      for (const auto& [client, message] : exchange) {
        for (const auto& [key, value] : message.values) {
          EXPECT_TRUE(allowed.contains(key)) << key;
          EXPECT_TRUE(key == "model" || std::holds_alternative<Ints>(value)) << key;
          seen.insert(key);
          lengths[key].insert(std::holds_alternative<Ints>(value) ? std::get<Ints>(value).size() : 0);
        }
      }
    }
    EXPECT_EQ(seen.contains("norms"), privacy.bounds == BoundsRule::histogram);
    EXPECT_TRUE(seen.contains("sums"));
    EXPECT_EQ(seen.contains("spent"), privacy.max_releases == 1);
    for (const auto& [key, sizes] : lengths) {
      EXPECT_EQ(sizes.size(), 1U) << key;
    }
  }
}

TEST(PrivateFeroma, AreSentAgainUnchangedUntilDataChange) {
  std::map<ClientId, std::set<Ints>> told;
  for (const auto& exchange : traffic(gaussian_budget())) {
    for (const auto& [client, message] : exchange) {
      if (message.has("sums")) {
        told[client].insert(message.ints("sums"));
      }
    }
  }
  std::set<Ints> all;
  for (const auto& [client, sums] : told) {
    EXPECT_EQ(sums.size(), 2U) << "rounds 3 to 5 have two data versions";
    all.insert(sums.begin(), sums.end());
  }
  EXPECT_EQ(all.size(), 12U);
}

TEST(PrivateFeroma, BoundsMoveOnceUnlessToldNotTo) {
  for (const Recentre recenter : {Recentre::once, Recentre::never}) {
    PrivacyOptions privacy = gaussian_budget();
    privacy.recenter = recenter;
    std::set<std::int64_t> epochs;
    for (const auto& exchange : traffic(privacy)) {
      for (const auto& [client, message] : exchange) {
        if (message.has("epoch")) {
          epochs.insert(message.integer("epoch"));
        }
      }
    }
    EXPECT_EQ(epochs.size(), recenter == Recentre::once ? 2U : 1U);
  }
}

TEST(PrivateFeroma, WithoutBudgetTheLastProfileStaysOrTheRunEnds) {
  for (const WhenSpent when : {WhenSpent::freeze, WhenSpent::stop}) {
    PrivacyOptions privacy = gaussian_budget(/*releases=*/1);
    privacy.when_spent = when;
    ScenarioOptions scenario = test::toy_scenario();
    scenario.rounds = 8;
    scenario.drifts = 4;
    PrivateRun run(privacy, scenario);
    RoundLoop loop = run.private_loop(kFeroma);
    test::play_all(loop);
    EXPECT_EQ(loop.finished_rounds() == 8, when == WhenSpent::freeze) << loop.finished_rounds();
    const ResultRecord result = loop.evaluate();
    EXPECT_GT(result.accuracy_few_label, 40);
    EXPECT_NEAR(*result.epsilon, privacy.epsilon_total, 1e-6);
  }
}

// Who sits out a round, or has nothing left from the start, still has its last profile, or learns with all.
TEST(PrivateFeroma, ASpentBudgetDoesNotEndLearning) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.rounds = 12;
  scenario.drifts = 4;
  scenario.participation = 0.5;
  PrivateRun run(gaussian_budget(/*releases=*/1), scenario);
  RoundLoop loop = run.private_loop(kFeroma);
  test::play_all(loop);
  EXPECT_GT(loop.evaluate().accuracy_few_label, 40);
  RoundLoop again = run.private_loop(kFeroma, "ledgers", "another");
  test::play_all(again);
  EXPECT_EQ(again.algorithm().served().size(), 1U) << "nobody has a profile: one model for all";
  test::ToyRun plain(scenario);
  RoundLoop fedavg = plain.loop("name = 'fedavg'");
  test::play_all(fedavg);
  EXPECT_NEAR(again.evaluate().accuracy, fedavg.evaluate().accuracy, 5) << "what is left is FedAvg";
}

// A resumed run counts what clients spent before, whoever takes part afterwards.
TEST(PrivateFeroma, EpsilonSurvivesAnInterruption) {
  PrivateRun run(gaussian_budget());
  RoundLoop whole = run.private_loop(kFeroma);
  test::play_all(whole);
  const Bytes end = whole.save();
  const ResultRecord before = whole.evaluate();
  RoundLoop resumed = run.private_loop(kFeroma);
  resumed.load(end, "test");
  EXPECT_EQ(resumed.evaluate().epsilon, before.epsilon);
  EXPECT_GT(before.epsilon, 0);
}

// Noise is the operating system's, but what was told stands in the ledger: a run that goes on tells the same.
TEST(PrivateFeroma, AnInterruptedRunGoesOnBitForBit) {
  PrivateRun run(gaussian_budget());
  RoundLoop whole = run.private_loop(kFeroma);
  for (int round = 0; round < 3; ++round) {
    static_cast<void>(whole.play_round());
  }
  const Bytes middle = whole.save();
  test::play_all(whole);
  RoundLoop resumed = run.private_loop(kFeroma);
  resumed.load(middle, "test");
  test::play_all(resumed);
  EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(resumed.algorithm()));
}

TEST(PrivateFeroma, SeededNoiseRepeatsAndPromisesNothing) {
  PrivacyOptions privacy = gaussian_budget();
  privacy.noise = NoiseSource::seeded;
  std::vector<std::vector<float>> bits;
  for (const int threads : {1, 2}) {
    PrivateRun run(privacy, test::toy_scenario(), threads);
    RoundLoop loop = run.private_loop(kFeroma);
    EXPECT_FALSE(loop.play_round().epsilon);
    test::play_all(loop);
    bits.push_back(test::served_bits(loop.algorithm()));
    EXPECT_FALSE(loop.evaluate().epsilon);
  }
  EXPECT_EQ(bits[0], bits[1]);
  PrivateRun run(gaussian_budget());
  RoundLoop loop = run.private_loop(kFeroma);
  test::play_all(loop);
  EXPECT_NE(test::served_bits(loop.algorithm()), bits[0]);
}

TEST(PrivateFeroma, MethodsThatTellMoreAreNotApplicable) {
  const auto refused = [](const std::string& algorithm, const std::string& text) {
    PrivateRun run(gaussian_budget());
    expect_error(ErrorCode::unsupported, text, [&] { return run.private_loop(algorithm).rounds(); });
  };
  refused("name = 'fedavg'", "send exact counts");
  refused("name = 'feroma'\npreset = 'paper'", "needs profile.projection orthonormal");
  refused("name = 'feroma'\nwarmup_rounds = 4\nwarmup_auto = true", "accuracies do not leave clients");
  refused("name = 'feroma'\nretention.models = 3", "needs retention.accuracy 0");
  refused("name = 'feroma'\nprofile.data = 'train'", "needs profile.data all");
  PrivateRun run(gaussian_budget());
  EXPECT_NO_THROW(run.private_loop("name = 'fedavg-ft'"));
  EXPECT_NO_THROW(run.private_loop("name = 'feroma'\nretention.models = 3\nretention.accuracy = 0"));
}

}  // namespace
}  // namespace feroma
