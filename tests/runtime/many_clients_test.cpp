#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "feroma/runtime/round_loop.h"
#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::play_all;
using test::served_bits;
using test::ToyRun;

constexpr const char* kFeroma = "name = 'feroma'\nwarmup_rounds = 2";

/// Five of the clients take part in a round, seven are scored.
ScenarioOptions sampled_clients(int clients) {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.clients = clients;
  scenario.samples_per_client = 60;
  scenario.test_clients = 7;
  scenario.participation = 5.0 / clients;
  return scenario;
}

/// The mean over test clients 0..count-1 of what the run's last models score.
double mean_accuracy(ToyRun& run, const RoundLoop& loop, std::size_t count) {
  std::vector<double> scores(count);
  run.workers.run(
      count,
      [&](std::size_t i, Trainer& trainer) {
        StageSeconds seconds;
        const Memories nobody;
        const auto client = static_cast<ClientId>(i);
        const Rng rng(static_cast<std::uint64_t>(run.federation.options().seed));
        const Scoring scoring{loop.algorithm(), trainer, rng, nobody, [](const ModelSource&) { return 0; }, seconds};
        scores[i] = *score_natively(scoring, run.federation.test(client, 0), client).native;
      },
      run.stop);
  return spread_of(scores).mean;
}

TEST(ManyClients, ScoresTheFirstTestClients) {
  ToyRun run(sampled_clients(40));
  RoundLoop loop = run.loop(kFeroma);
  play_all(loop);
  const ResultRecord result = loop.evaluate();
  EXPECT_EQ(result.accuracy, mean_accuracy(run, loop, 7));
  EXPECT_NE(result.accuracy, mean_accuracy(run, loop, 6));
  ASSERT_TRUE(result.match_rate);
  EXPECT_NEAR(*result.match_rate * 7, std::round(*result.match_rate * 7), 1e-9) << "a share of seven clients";
}

TEST(ManyClients, ScoresEveryTestClientUnlessToldOtherwise) {
  ScenarioOptions scenario = sampled_clients(40);
  scenario.test_clients = 0;
  ToyRun run(scenario);
  RoundLoop loop = run.loop("name = 'fedavg'");
  play_all(loop);
  EXPECT_EQ(loop.evaluate().accuracy, mean_accuracy(run, loop, 40));
}

TEST(ManyClients, SamplesTheSameNumberOutOfAnyNumberOfClients) {
  for (const int clients : {7, 100, 100000}) {
    ToyRun run(sampled_clients(clients));
    RoundLoop loop = run.loop("name = 'fedavg'");
    std::set<std::uint32_t> seen;
    while (loop.finished_rounds() < loop.rounds()) {
      const RoundRecord record = loop.play_round();
      std::set<std::uint32_t> present;
      for (const ClientRecord& client : record.clients) {
        present.insert(client.client);
      }
      EXPECT_EQ(present.size(), 5U);
      seen.merge(present);
    }
    EXPECT_GT(seen.size(), 5U) << "others take part in other rounds";
  }
}

TEST(ManyClients, ThreadsDoNotChangeTheModelsOfManyClients) {
  for (const char* algorithm : {"name = 'fedavg'", kFeroma}) {
    ToyRun one(sampled_clients(100000), 1);
    ToyRun three(sampled_clients(100000), 3);
    RoundLoop first = one.loop(algorithm);
    RoundLoop second = three.loop(algorithm, /*task_order_seed=*/5);
    play_all(first);
    play_all(second);
    EXPECT_EQ(served_bits(first.algorithm()), served_bits(second.algorithm()));
    const ResultRecord a = first.evaluate();
    const ResultRecord b = second.evaluate();
    EXPECT_EQ(a.accuracy, b.accuracy);
    EXPECT_EQ(a.accuracy_best_round, b.accuracy_best_round);
    EXPECT_EQ(a.match_rate, b.match_rate);
  }
}

/// Bytes of a run's state after its last round.
std::size_t state_size(int clients) {
  ToyRun run(sampled_clients(clients));
  RoundLoop loop = run.loop(kFeroma);
  play_all(loop);
  return loop.save().size();
}

TEST(ManyClients, RemembersOnlyThoseWhoTookPart) {
  // Five rounds of five: at most 25 clients in both, a few of the hundred twice.
  EXPECT_NEAR(static_cast<double>(state_size(100000)) / static_cast<double>(state_size(100)), 1, 0.2);
}

}  // namespace
}  // namespace feroma
