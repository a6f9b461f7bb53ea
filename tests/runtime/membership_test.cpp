#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "feroma/evaluation/serve.h"
#include "tests/algorithms/toy_run.h"

namespace feroma {
namespace {

using test::play_all;
using test::served_bits;
using test::ToyRun;

constexpr const char* kRetainingFeroma = "name = 'feroma'\nwarmup_rounds = 2\nretention.models = 4";

MembershipOptions coming_and_going() {
  MembershipOptions options;
  options.initial = 6;
  options.test_only = 2;
  options.arrival_rate = 0.3;
  options.departure_rate = 0.3;
  options.return_rate = 0.3;
  return options;
}

ScenarioOptions lively() {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.clients = 14;
  scenario.rounds = 8;
  scenario.drifts = 4;
  scenario.participation = 0.5;
  return scenario;
}

std::set<std::uint32_t> clients_of(const RoundRecord& record) {
  std::set<std::uint32_t> clients;
  for (const ClientRecord& client : record.clients) {
    clients.insert(client.client);
  }
  return clients;
}

TEST(MembershipRun, HalfOfThosePresentTakePart) {
  ToyRun run(lively());
  RoundLoop loop = run.loop(kRetainingFeroma, std::nullopt, coming_and_going());
  const Membership membership(coming_and_going(), 14, 8, Rng(42));
  std::set<std::size_t> sizes;
  for (Round round = 1; round <= 8; ++round) {
    std::set<std::uint32_t> present;
    for (const ClientId client : membership.present(round)) {
      present.insert(to_index(client));
    }
    const std::set<std::uint32_t> took_part = clients_of(loop.play_round());
    EXPECT_EQ(took_part.size(), static_cast<std::size_t>(std::llround(0.5 * static_cast<double>(present.size()))));
    for (const std::uint32_t client : took_part) {
      EXPECT_TRUE(present.contains(client)) << "round " << round << ", client " << client;
    }
    sizes.insert(present.size());
  }
  EXPECT_GT(sizes.size(), 1U);
}

TEST(MembershipRun, ReplaysToTheSameBitsOnAnyNumberOfThreadsAndThroughACheckpoint) {
  ToyRun one(lively());
  RoundLoop straight = one.loop(kRetainingFeroma, std::nullopt, coming_and_going());
  play_all(straight);
  ToyRun two(lively(), 2);
  RoundLoop first = two.loop(kRetainingFeroma, 5, coming_and_going());
  for (int i = 0; i < 4; ++i) {
    static_cast<void>(first.play_round());
  }
  RoundLoop second = two.loop(kRetainingFeroma, 6, coming_and_going());
  second.load(first.save(), "test");
  play_all(second);
  EXPECT_EQ(served_bits(straight.algorithm()), served_bits(second.algorithm()));
  const ResultRecord a = straight.evaluate();
  const ResultRecord b = second.evaluate();
  EXPECT_EQ(a.accuracy, b.accuracy);
  ASSERT_TRUE(a.accuracy_newcomers);
  EXPECT_EQ(a.accuracy_newcomers, b.accuracy_newcomers);
  EXPECT_TRUE(std::isfinite(a.accuracy));
}

TEST(MembershipRun, NewcomersAreScoredOnTheFirstModelTheyGet) {
  ScenarioOptions scenario = test::toy_scenario();
  ToyRun run(scenario);
  MembershipOptions options;
  options.initial = 4;
  options.events = "3:+4 4:-4 5:+4+5";
  RoundLoop loop = run.loop("name = 'fedavg'", std::nullopt, options);
  double expected = 0;
  for (Round round = 1; round <= 5; ++round) {
    for (const ClientRecord& client : loop.play_round().clients) {
      const bool first = (round == 3 && client.client == 4) || (round == 5 && client.client == 5);
      expected += first ? client.accuracy_before / 2 : 0;
    }
  }
  EXPECT_DOUBLE_EQ(loop.evaluate().accuracy_newcomers.value(), expected);
  RoundLoop everybody = run.loop("name = 'fedavg'");
  play_all(everybody);
  EXPECT_FALSE(everybody.evaluate().accuracy_newcomers);
}

// Personal methods and those with one model have columns that can be compared.
TEST(MembershipRun, TestOnlyClientsAreServedTheMethodsWayWhereOthersAreKnown) {
  ToyRun run;
  MembershipOptions options;
  options.test_only = 2;
  RoundLoop loop = run.loop("name = 'feroma'\nwarmup_rounds = 2", std::nullopt, options);
  play_all(loop);
  EXPECT_EQ(loop.algorithm().served().size(), 4U);
  const ResultRecord result = loop.evaluate();
  EXPECT_GT(result.accuracy, 0);
  ASSERT_TRUE(result.accuracy_known);
  double known = 0;
  for (std::uint32_t k = 0; k < 6; ++k) {
    StageSeconds seconds;
    test::ToyEngine engine(run.model);
    Trainer trainer(engine);
    const TestShard shard = run.federation.test(ClientId{k}, 0);
    const auto of = [&](TestPolicy policy) {
      TestContext context{ClientId{k}, shard.data, nullptr, Rng(1), trainer, seconds};
      return loop.algorithm().predictor(policy, context);
    };
    const auto own = of(TestPolicy::known_association);
    EXPECT_EQ(own != nullptr, k < 4) << k;
    known += score(own ? *own : *of(TestPolicy::native), trainer, shard.data).accuracy() / 6;
  }
  EXPECT_NEAR(*result.accuracy_known, known, 1e-9);
}

}  // namespace
}  // namespace feroma
