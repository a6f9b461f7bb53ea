#include "feroma/runtime/round_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "feroma/runtime/round_record.h"
#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"
#include "tests/runtime/scripted_algorithm.h"

namespace feroma {
namespace {

using test::Script;
using test::Scripted;
using test::ToyRun;

class RoundLoopTest : public testing::Test {
 protected:
  RoundLoop loop(const Script& script, double participation = 1, std::string label = "scripted") {
    return RoundLoop(scripted_setup(script, participation, std::move(label)));
  }
  RoundLoop::Setup scripted_setup(const Script& script, double participation = 1, std::string label = "scripted",
                                  double unseen_rate = 0) {
    ScenarioOptions scenario = test::toy_scenario();
    scenario.participation = participation;
    scenario.unseen_rate = unseen_rate;
    runs.push_back(std::make_unique<ToyRun>(scenario));
    run = runs.back().get();
    run->plans.push_back(std::make_unique<AlgorithmPlan>());
    AlgorithmPlan& plan = *run->plans.back();
    plan.label = std::move(label);
    plan.make = [script] { return std::make_unique<Scripted>(script); };
    ServerContext server;
    server.model = run->model;
    server.initial = share(initialise(run->model, Rng(1)));
    server.fit.local_epochs = 3;
    return {run->federation, plan, std::move(server), run->workers, Rng(42), run->stop, std::nullopt};
  }
  static std::set<std::uint32_t> clients_of(const RoundRecord& record) {
    std::set<std::uint32_t> clients;
    for (const ClientRecord& line : record.clients) {
      clients.insert(line.client);
    }
    return clients;
  }
  /// True id of a client in a round.
  int id(std::uint32_t client, Round round) const {
    const Schedule& schedule = run->federation.schedule();
    return schedule.ids[client][static_cast<std::size_t>(schedule.stage_of_round[static_cast<std::size_t>(round)])];
  }

  std::vector<std::unique_ptr<ToyRun>> runs;  ///< loops borrow from them
  ToyRun* run = nullptr;                      ///< the last one
};

TEST_F(RoundLoopTest, DrawsParticipantsAnewEveryRoundAndAtLeastOne) {
  RoundLoop half = loop({}, 0.5);
  std::set<std::set<std::uint32_t>> seen;
  for (int round = 1; round <= 5; ++round) {
    const auto clients = clients_of(half.play_round());
    EXPECT_EQ(clients.size(), 3U);
    seen.insert(clients);
  }
  EXPECT_GT(seen.size(), 1U);
  EXPECT_EQ(clients_of(loop({}, 0.01).play_round()).size(), 1U);
}

TEST_F(RoundLoopTest, CountsBytesPerClientRoundAndSamplesPerEpoch) {
  RoundLoop half = loop({}, 0.5);
  test::play_all(half);
  const ResultRecord result = half.evaluate();
  EXPECT_EQ(result.bytes_down_per_client_round, 4);
  EXPECT_EQ(result.bytes_up_per_client_round, 8);
  EXPECT_EQ(half.totals().client_rounds, 15);            // 5 rounds, 3 clients
  EXPECT_EQ(half.totals().samples_held, 15 * 10);        // 10 examples
  EXPECT_EQ(result.forward_passes_per_client_round, 0);  // the script trains nothing
}

TEST_F(RoundLoopTest, WhoDropsOutIsNotAskedAgainAndNotInTheRecord) {
  std::vector<std::vector<std::uint32_t>> asked;
  Script script;
  script.phases = 2;
  script.drops = [](Round, int phase, std::uint32_t client) { return client == 4 || (phase == 1 && client == 2); };
  script.asked = &asked;
  const RoundRecord record = loop(script).play_round();
  EXPECT_EQ(asked, (std::vector<std::vector<std::uint32_t>>{{0, 1, 2, 3, 5}, {0, 1, 3, 5}}));
  EXPECT_EQ(clients_of(record), (std::set<std::uint32_t>{0, 1, 3, 5}));
}

TEST_F(RoundLoopTest, WhoseAnswerIsRefusedIsLeftOutLikeOneWhoDroppedOut) {
  std::vector<std::vector<std::uint32_t>> asked;
  Script script;
  script.phases = 2;
  script.checks = [](Round, int phase, std::uint32_t client) {
    require(client != 4 && (phase == 0 || client != 2), ErrorCode::invalid_data, "[scripted] not from client {}",
            client);
  };
  script.asked = &asked;
  RoundLoop refusing = loop(script);
  const RoundRecord record = refusing.play_round();
  EXPECT_EQ(asked, (std::vector<std::vector<std::uint32_t>>{{0, 1, 2, 3, 5}, {0, 1, 3, 5}}));
  EXPECT_EQ(clients_of(record), (std::set<std::uint32_t>{0, 1, 3, 5}));
  ASSERT_EQ(record.dropped.size(), 2U);
  EXPECT_EQ(record.dropped[0].client, 4U);
  EXPECT_EQ(record.dropped[0].reason, "[scripted] not from client 4");
  EXPECT_EQ(record.bytes_up, (5 + 4) * 8);  // what was not taken does not count
  EXPECT_EQ(refusing.totals().samples_held, 4 * 10);
}

TEST_F(RoundLoopTest, AMistakeOfTheServersOwnEndsTheRun) {
  Script script;
  script.checks = [](Round, int, std::uint32_t) { fail(ErrorCode::internal, "our own"); };
  RoundLoop broken = loop(script);
  expect_error(ErrorCode::internal, "our own", [&] { return broken.play_round().round; });
  script.checks = [](Round, int, std::uint32_t) { fail(ErrorCode::invalid_data, "theirs"); };
  RoundLoop alone = loop(script);
  expect_error(ErrorCode::invalid_data, "every client dropped out; the last one: theirs",
               [&] { return alone.play_round().round; });
}

/// The toy engine, whose loss becomes infinite in one step.
class DivergesOnce final : public Engine {
 public:
  DivergesOnce(const ModelSpec& model, int step) : toy_(model), step_(step) {}

  [[nodiscard]] std::string_view name() const override { return toy_.name(); }
  [[nodiscard]] BatchLayout layout() const override { return toy_.layout(); }
  double gradient(Parameters& params, const Batch& batch, const Objective& objective,
                  std::span<float> gradient) override {
    const double loss = toy_.gradient(params, batch, objective, gradient);
    return step_-- == 0 ? HUGE_VAL : loss;
  }
  [[nodiscard]] Activations forward(const Parameters& params, const Batch& batch, Latent latent) override {
    return toy_.forward(params, batch, latent);
  }

 private:
  test::ToyEngine toy_;
  int step_;
};

TEST_F(RoundLoopTest, AClientWhoseLossIsInfiniteIsLeftOutOfTheRoundOnly) {
  // One worker takes the clients in order; each has 8 steps in 2 epochs.
  ToyRun toy(test::toy_scenario(), 1, [](const ModelSpec& model) { return std::make_unique<DivergesOnce>(model, 17); });
  RoundLoop fedavg = toy.loop("name = 'fedavg'");
  const RoundRecord first = fedavg.play_round();
  ASSERT_EQ(first.dropped.size(), 1U);
  EXPECT_EQ(first.dropped[0].client, 2U);
  EXPECT_NE(first.dropped[0].reason.find("the loss must stay finite, got inf at step 2 of epoch 1"), std::string::npos)
      << first.dropped[0].reason;
  EXPECT_EQ(clients_of(first), (std::set<std::uint32_t>{0, 1, 3, 4, 5}));
  EXPECT_TRUE(fedavg.algorithm().served()[0].model->all_finite());
  const RoundRecord second = fedavg.play_round();
  EXPECT_TRUE(second.dropped.empty());
  EXPECT_EQ(second.clients.size(), 6U);
}

TEST_F(RoundLoopTest, ARoundWithoutAnyAnswerEndsTheRun) {
  Script script;
  script.drops = [](Round, int, std::uint32_t) { return true; };
  RoundLoop everybody = loop(script);
  expect_error(ErrorCode::invalid_data, "every client dropped out; the last one: no luck",
               [&] { return everybody.play_round().round; });
}

TEST_F(RoundLoopTest, TestsEveryFewRoundsAndAfterTheLast) {
  const auto tested_rounds = [](int every) {
    ToyRun toy;
    RoundLoop::Setup setup = toy.setup("name = 'fedavg'");
    setup.test_every = every;
    RoundLoop fedavg(std::move(setup));
    std::set<int> rounds;
    while (fedavg.finished_rounds() < fedavg.rounds()) {
      const RoundRecord record = fedavg.play_round();
      if (record.test_accuracy) {
        rounds.insert(record.round);
      }
    }
    return rounds;
  };
  EXPECT_EQ(tested_rounds(0), std::set<int>{});
  EXPECT_EQ(tested_rounds(2), (std::set<int>{2, 4, 5}));
  EXPECT_EQ(tested_rounds(7), std::set<int>{5});
}

TEST_F(RoundLoopTest, ATestsTimeIsEvaluationAndPartOfItsRound) {
  const auto evaluated = [](int every) {
    ToyRun toy(test::toy_scenario(), 1, [](const ModelSpec& model) { return make_engine(EngineKind::native, model); });
    RoundLoop::Setup setup = toy.setup("name = 'local'");  // serves strangers with everybody's models, which takes time
    setup.test_every = every;
    RoundLoop local(std::move(setup));
    double rounds = 0;
    while (local.finished_rounds() < local.rounds()) {
      rounds += local.play_round().seconds;
    }
    EXPECT_DOUBLE_EQ(rounds, local.totals().seconds);
    StageSeconds stages = local.totals().stages;
    EXPECT_LE(stages[Stage::evaluate] + stages[Stage::train], rounds);
    return stages[Stage::evaluate];
  };
  double most_without = 0;
  double least_with = HUGE_VAL;
  for (int i = 0; i < 3; ++i) {
    most_without = std::max(most_without, evaluated(0));
    least_with = std::min(least_with, evaluated(1));
  }
  EXPECT_GT(least_with, most_without);
}

TEST_F(RoundLoopTest, AMethodThatServesNobodyHasNoTestAccuracy) {
  for (const bool serves : {true, false}) {
    Script script;
    script.serves = serves;
    RoundLoop::Setup setup = scripted_setup(script);
    setup.test_every = 1;
    RoundLoop scripted(std::move(setup));
    EXPECT_EQ(scripted.play_round().test_accuracy.has_value(), serves);
    test::play_all(scripted);
    EXPECT_EQ(std::isfinite(scripted.evaluate().accuracy), serves);
  }
}

TEST_F(RoundLoopTest, RecordsTheDistributionOfTheRound) {
  RoundLoop all = loop({});
  for (Round round = 1; round <= 5; ++round) {
    for (const ClientRecord& line : all.play_round().clients) {
      EXPECT_EQ(line.distribution, id(line.client, round)) << "round " << round;
    }
  }
}

TEST_F(RoundLoopTest, RecordsWhatClientsReport) {
  const RoundRecord record = loop({}).play_round();
  EXPECT_EQ(record.accuracy_before, 25);
  EXPECT_EQ(record.accuracy_after, 75);
  EXPECT_EQ(record.loss, 0.5);
  EXPECT_EQ(record.clients[3].accuracy_before, 25);
  EXPECT_EQ(record.clients[3].num_examples, 10);
}

// Clients of a server may keep their scores, all of them or some; a simulated one without held-out samples has 0.
TEST(DescribeExchange, MeansAreOverThoseWhoTell) {
  Exchanged exchanged;
  exchanged.reports[ClientId{0}] = {10, 0.5, Tally::untold(), Tally::untold()};
  RoundRecord nobody;
  describe_exchange(exchanged, {}, nobody);
  EXPECT_TRUE(std::isnan(nobody.loss));
  EXPECT_TRUE(std::isnan(nobody.accuracy_before));
  EXPECT_TRUE(std::isnan(nobody.accuracy_after));
  EXPECT_TRUE(std::isnan(nobody.clients[0].accuracy_after));
  exchanged.reports[ClientId{1}] = {10, 0.5, {6, 2, 8}, {4, 6, 8}};
  RoundRecord one;
  describe_exchange(exchanged, {}, one);
  EXPECT_EQ(one.loss, 0.5);
  EXPECT_EQ(one.accuracy_before, 25);
  EXPECT_EQ(one.accuracy_after, 75);
  exchanged.reports[ClientId{2}] = {10, 0.5, {}, {}};
  RoundRecord two;
  describe_exchange(exchanged, {}, two);
  EXPECT_EQ(two.accuracy_after, 37.5);
}

TEST_F(RoundLoopTest, ValidatesWhatIsServedOnHeldOutData) {
  ToyRun toy;
  RoundLoop fedavg = toy.loop("name = 'fedavg'");
  const RoundRecord record = fedavg.play_round();
  test::ToyEngine engine(toy.model);
  Trainer trainer(engine);
  double loss = 0;
  for (std::uint32_t k = 0; k < 6; ++k) {
    const ClientShard shard = toy.federation.shard(ClientId{k}, 1);
    loss += trainer.evaluate(*fedavg.algorithm().served()[0].model, shard.held_out).loss() / 6;
  }
  EXPECT_NEAR(record.validation_loss, loss, 1e-5);
}

TEST_F(RoundLoopTest, ReportsTheWorstTenthOfTheTestClients) {
  Script script;
  script.fails_client_zero = true;
  script.quality.back() = 0.9F;
  RoundLoop all = loop(script);
  test::play_all(all);
  const ResultRecord result = all.evaluate();
  EXPECT_NEAR(result.accuracy, 500.0 / 6, 1e-9);
  EXPECT_EQ(result.accuracy_worst10, 0);
  EXPECT_NEAR(result.accuracy_std_clients, 100 * std::sqrt(5.0) / 6, 1e-9);
}

TEST_F(RoundLoopTest, TheBestRoundIsTheOneWithTheLowestValidationLoss) {
  RoundLoop all = loop({});
  EXPECT_NEAR(all.play_round().validation_loss, -std::log(0.1), 1e-6);
  EXPECT_EQ(all.play_round().validation_accuracy, 100);
  const Bytes saved = all.save();
  RoundLoop resumed = loop({});
  resumed.load(saved, "checkpoint");
  test::play_all(resumed);
  EXPECT_EQ(resumed.totals().best_round, 2);
  const ResultRecord result = resumed.evaluate();
  EXPECT_EQ(result.accuracy, 0);
  EXPECT_DOUBLE_EQ(*result.accuracy_best_round, 100);
}

TEST_F(RoundLoopTest, ARoundWithoutAFiniteLossIsNeverTheBest) {
  Script script;
  script.quality = {0, std::nanf(""), 0.2F, 0.1F, 0.1F, 0.1F};
  RoundLoop all = loop(script);
  test::play_all(all);
  EXPECT_EQ(all.totals().best_round, 2);
}

TEST_F(RoundLoopTest, TotalsSurviveACheckpoint) {
  RoundLoop first = loop({});
  static_cast<void>(first.play_round());
  static_cast<void>(first.play_round());
  const RunTotals before = first.totals();
  const Bytes saved = first.save();
  RoundLoop second = loop({});
  second.load(saved, "checkpoint");
  const RunTotals& after = second.totals();
  EXPECT_EQ(second.finished_rounds(), 2);
  EXPECT_EQ(after.seconds, before.seconds);
  EXPECT_EQ(after.stages.values, before.stages.values);
  EXPECT_EQ(after.bytes_up, before.bytes_up);
  EXPECT_EQ(after.bytes_down, before.bytes_down);
  EXPECT_EQ(after.client_rounds, before.client_rounds);
  EXPECT_EQ(after.samples_held, before.samples_held);
  EXPECT_EQ(after.best_loss, before.best_loss);
  RoundLoop other = loop({}, 1, "another");
  expect_error(ErrorCode::invalid_data, "is the state of scripted, expected another", [&] {
    other.load(saved, "checkpoint");
    return 0;
  });
}

TEST_F(RoundLoopTest, WeightsThatFollowTheTrueIdsHaveAnAucOfOne) {
  Script script;
  script.trace = [this](Round round) {
    RoundTrace trace;
    trace.mixing = Matrix(6, 6);
    for (std::uint32_t r = 0; r < 6; ++r) {
      trace.receivers.push_back(ClientId{r});
      trace.sources.push_back(ClientId{r});
      trace.strategies.push_back(r < 3 ? Strategy::clustered : (r < 5 ? Strategy::global : Strategy::personal));
      for (std::uint32_t s = 0; s < 6; ++s) {
        trace.mixing.at(r, s) = id(r, round) == id(s, std::max(round - 1, 1)) ? 1 : 0;
      }
    }
    return trace;
  };
  RoundLoop all = loop(script);
  static_cast<void>(all.play_round());
  for (Round round = 2; round <= 5; ++round) {
    const RoundRecord record = all.play_round();
    EXPECT_EQ(record.mixing_auc, 1.0) << "round " << round;
    EXPECT_DOUBLE_EQ(*record.clustered_share, 0.5);
    EXPECT_DOUBLE_EQ(*record.global_share, 1.0 / 3);
    EXPECT_DOUBLE_EQ(*record.personal_share, 1.0 / 6);
    EXPECT_EQ(record.clients[0].strategy, "clustered");
    EXPECT_EQ(record.clients[5].strategy, "personal");
  }
}

TEST_F(RoundLoopTest, MatchRateComparesTheLastTrainingIdsWithTheTestIds) {
  RoundLoop all = loop({});
  test::play_all(all);
  const Schedule& schedule = run->federation.schedule();
  double matched = 0;
  for (std::uint32_t k = 0; k < 6; ++k) {
    matched += id(k, 5) == schedule.test_ids[k] ? 1 : 0;
  }
  EXPECT_DOUBLE_EQ(*all.evaluate().match_rate, matched / 6);
}

TEST_F(RoundLoopTest, DetectionIsScoredOverTheSamplesOfKnownAndUnseenTestClients) {
  const auto auroc = [&](double unseen_rate, const std::function<double(bool strange, std::size_t sample)>& measure) {
    Script script;
    if (measure) {
      script.strangeness = [this, measure](const View& view) {
        std::size_t client = 0;
        while (run->federation.test(static_cast<ClientId>(client), 0).data.items != view.items) {
          ++client;
        }
        const Schedule& schedule = run->federation.schedule();
        std::vector<double> found(view.size());
        for (std::size_t i = 0; i < found.size(); ++i) {
          found[i] = measure(schedule.test_ids[client] > schedule.bank.trained(), i);
        }
        return found;
      };
    }
    RoundLoop loop(scripted_setup(script, 1, "scripted", unseen_rate));
    test::play_all(loop);
    return loop.evaluate().detection_auroc;
  };
  const auto tells = [](bool strange, std::size_t) { return strange ? 2.0 : 1.0; };
  EXPECT_EQ(auroc(0.5, tells), 1.0);
  EXPECT_EQ(auroc(0.5, [](bool strange, std::size_t) { return strange ? 1.0 : 2.0; }), 0.0);
  EXPECT_EQ(auroc(0.5, [](bool, std::size_t) { return 1.0; }), 0.5) << "ties count half";
  EXPECT_NEAR(*auroc(0.5, [](bool, std::size_t i) { return std::fmod(static_cast<double>(i) * 0.618, 1.0); }), 0.5,
              0.05);
  EXPECT_EQ(auroc(0.0, tells), std::nullopt) << "nobody is strange";
  EXPECT_EQ(auroc(1.0, tells), std::nullopt) << "nobody is known";
  EXPECT_EQ(auroc(0.5, nullptr), std::nullopt) << "the method has no measure";
}

TEST_F(RoundLoopTest, AMeanOverSomeOfTheClientsIsNotReported) {
  Script script;
  script.finds_the_nearest_of_zero = false;
  RoundLoop all = loop(script);
  test::play_all(all);
  const ResultRecord result = all.evaluate();
  EXPECT_FALSE(result.accuracy_nearest);
  EXPECT_TRUE(result.accuracy_known);
}

}  // namespace
}  // namespace feroma
