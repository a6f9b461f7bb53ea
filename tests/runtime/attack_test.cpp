#include "feroma/runtime/attack.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/algorithms/toy_run.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::ToyRun;

const ModelSpec kAttacked = test::toy_model({1, 1, 1}, 2);

ParametersPtr filled(float value, const ModelSpec& model = kAttacked) {
  Parameters params(make_layout(model));
  std::fill(params.values().begin(), params.values().end(), value);
  return share(std::move(params));
}

AttackOptions attack(AttackKind kind, std::string clients = "0", double factor = 10) {
  return {kind, std::move(clients), factor, 1};
}

float tampered(AttackKind kind, const Message& received, Message answer, const std::string& key = "model") {
  Attack(attack(kind)).tamper(received, answer);
  return answer.model(key)->values().back();
}

TEST(Tampering, TurnsOrStretchesWhatTrainingChanged) {
  const Message received{{{"model", filled(1)}}};
  const Message answer{{{"model", filled(3)}, {"num_examples", Ints{7}}}};
  EXPECT_EQ(tampered(AttackKind::sign_flip, received, answer), -19);       // 1 - 10 * 2
  EXPECT_EQ(tampered(AttackKind::forged_profile, received, answer), -19);  // the same
  EXPECT_EQ(tampered(AttackKind::scale, received, answer), 21);            // 1 + 10 * 2
  EXPECT_TRUE(std::isnan(tampered(AttackKind::nan, received, answer)));
}

TEST(Tampering, ComparesWithTheModelOfTheSameNameOrElseTheFirstOfTheSameSize) {
  const ModelSpec larger = test::toy_model({1, 2, 2}, 2);
  const Message received{{{"a", filled(9, larger)}, {"b", filled(2)}, {"model", filled(1)}}};
  EXPECT_EQ(tampered(AttackKind::scale, received, {{{"model", filled(3)}}}), 21);
  EXPECT_EQ(tampered(AttackKind::scale, received, {{{"other", filled(3)}}}, "other"), 12);  // 2 + 10 * 1
}

TEST(Tampering, LeavesAloneWhatHasNoCounterpartAndWhatIsNoModel) {
  const Message received{{{"rates", Floats{1}}}};
  EXPECT_EQ(tampered(AttackKind::sign_flip, received, {{{"model", filled(3)}}}), 3);
  EXPECT_TRUE(std::isnan(tampered(AttackKind::nan, received, {{{"model", filled(3)}}})));
  Message numbers{{{"rates", Floats{5}}, {"counts", Ints{6}}}};
  Attack(attack(AttackKind::nan)).tamper(received, numbers);
  EXPECT_EQ(numbers.floats("rates"), Floats{5});
  EXPECT_EQ(numbers.integer("counts"), 6);
}

TEST(Attack, BeginsInItsRound) {
  const Attack later(AttackOptions{AttackKind::scale, "2 4", 10, 3});
  EXPECT_FALSE(later.lies(ClientId{2}, 2));
  EXPECT_TRUE(later.lies(ClientId{2}, 3));
  EXPECT_TRUE(later.lies(ClientId{4}, 9));
  EXPECT_FALSE(later.lies(ClientId{3}, 9));
  EXPECT_FALSE(Attack().lies(ClientId{0}, 1));
}

TEST(Attack, AForgedProfileIsThatOfTheFirstHonestClient) {
  const auto profiled = [](float value) { return Message{{{"profile", Floats{value}}, {"num_samples", Ints{5}}}}; };
  std::map<ClientId, Message> answers{
      {ClientId{0}, profiled(0)}, {ClientId{1}, profiled(1)}, {ClientId{2}, profiled(2)}, {ClientId{3}, profiled(3)}};
  std::map<ClientId, Message*> seen;
  for (auto& [client, answer] : answers) {
    seen[client] = &answer;
  }
  Attack(attack(AttackKind::sign_flip, "0 2")).forge(1, seen);
  EXPECT_EQ(answers[ClientId{0}].floats("profile"), Floats{0}) << "other attacks keep their profiles";
  Attack(attack(AttackKind::forged_profile, "0 2")).forge(1, seen);
  EXPECT_EQ(answers[ClientId{0}].floats("profile"), Floats{1});
  EXPECT_EQ(answers[ClientId{1}].floats("profile"), Floats{1});
  EXPECT_EQ(answers[ClientId{2}].floats("profile"), Floats{1});
  EXPECT_EQ(answers[ClientId{3}].floats("profile"), Floats{3});
  Attack(attack(AttackKind::forged_profile, "0 1 2 3")).forge(1, seen);  // nobody to copy from
  EXPECT_EQ(answers[ClientId{3}].floats("profile"), Floats{3});
}

TEST(AttackOptions, WhatIsImpossibleOrWouldBeIgnoredIsRefused) {
  const auto problems_of = [](const AttackOptions& options) {
    Problems problems;
    options.check(/*training=*/6, /*rounds=*/5, problems);
    return problems.messages();
  };
  using Messages = std::vector<std::string>;
  EXPECT_EQ(problems_of({}), Messages{});
  EXPECT_EQ(problems_of(attack(AttackKind::sign_flip, "0 5", 3)), Messages{});
  EXPECT_EQ(problems_of(attack(AttackKind::scale, "6")),
            Messages{"attack.clients must be in 0..5, the clients that train, got 6"});
  EXPECT_EQ(problems_of(attack(AttackKind::scale, "0 x1")),
            Messages{"attack.clients must be numbers of clients, such as \"0 5\", got \"x1\""});
  EXPECT_EQ(problems_of({AttackKind::scale, "0", 10, 6}),
            Messages{"attack.from_round must be <= scenario.rounds (5), got 6"});
  EXPECT_EQ(problems_of(attack(AttackKind::scale, " ")),
            Messages{"attack.kind would be ignored: it needs attack.clients"});
  EXPECT_EQ(problems_of(attack(AttackKind::none, "0")),
            Messages{"attack.clients would be ignored: it needs attack.kind"});
  EXPECT_EQ(problems_of({AttackKind::none, "", 10, 2}),
            Messages{"attack.from_round would be ignored: it needs attack.kind"});
  EXPECT_EQ(problems_of(attack(AttackKind::nan, "0", 3)),
            Messages{"attack.factor would be ignored: it needs attack.kind sign_flip, scale or forged_profile"});
}

/// Two concepts, four clients each; clients 0 2 4 6 have the first one.
ScenarioOptions two_concepts_in_turn() {
  ScenarioOptions scenario = test::toy_scenario();
  scenario.shift = Shift::concept_label;
  scenario.level = Level::medium;
  scenario.swapped_classes = 10;
  scenario.perm_bank = 2;
  scenario.drift_mode = DriftMode::fixed;
  scenario.strict = true;
  scenario.in_turn = true;
  scenario.drifts = 1;
  scenario.clients = 8;
  scenario.rounds = 6;
  return scenario;
}

constexpr const char* kAttackedFeroma = "name = 'feroma'\nwarmup_rounds = 2\n";

TEST(LyingClients, NobodyLiesBeforeTheAttackBegins) {
  ToyRun run(two_concepts_in_turn());
  RoundLoop honest = run.loop(kAttackedFeroma);
  run.attack = {AttackKind::sign_flip, "0", 10, 3};
  RoundLoop attacked = run.loop(kAttackedFeroma);
  for (int round = 1; round <= 2; ++round) {
    static_cast<void>(honest.play_round());
    static_cast<void>(attacked.play_round());
    EXPECT_EQ(test::served_bits(honest.algorithm()), test::served_bits(attacked.algorithm())) << round;
  }
  static_cast<void>(honest.play_round());
  static_cast<void>(attacked.play_round());
  EXPECT_NE(test::served_bits(honest.algorithm()), test::served_bits(attacked.algorithm()));
}

TEST(LyingClients, AModelThatIsNotANumberLeavesTheRoundAndTheRunGoesOn) {
  ToyRun run(two_concepts_in_turn());
  run.attack = attack(AttackKind::nan, "0 3");
  RoundLoop loop = run.loop(kAttackedFeroma);
  while (loop.finished_rounds() < loop.rounds()) {
    const RoundRecord record = loop.play_round();
    ASSERT_EQ(record.dropped.size(), 2U);
    EXPECT_EQ(record.dropped[0].reason, "[feroma] client 0's model must be finite, got a value that is not");
    EXPECT_EQ(record.dropped[1].client, 3U);
    EXPECT_EQ(record.clients.size(), 6U);
  }
  for (const ServedModel& served : loop.algorithm().served()) {
    EXPECT_TRUE(served.model->all_finite());
  }
}

/// Mean accuracy of what the honest clients of a concept (0 or 1) are given in the last round.
double accuracy_of_concept(RoundLoop& loop, std::uint32_t concept_number) {
  RoundRecord last;
  while (loop.finished_rounds() < loop.rounds()) {
    last = loop.play_round();
  }
  double sum = 0;
  double count = 0;
  for (const ClientRecord& line : last.clients) {
    if (line.client != 0 && line.client % 2 == concept_number) {
      sum += line.accuracy_before;
      count += 1;
    }
  }
  return sum / count;
}

TEST(LyingClients, OneThatFlipsItsModelRuinsTheMeanButNoRobustFold) {
  ToyRun run(two_concepts_in_turn());
  RoundLoop honest = run.loop(kAttackedFeroma);
  const double usual = accuracy_of_concept(honest, 0);
  ASSERT_GT(usual, 90);
  run.attack = attack(AttackKind::sign_flip);
  RoundLoop mean = run.loop(kAttackedFeroma);
  EXPECT_LT(accuracy_of_concept(mean, 0), 50);
  for (const char* fold : {"median", "trimmed", "krum"}) {
    RoundLoop robust = run.loop(kAttackedFeroma + fmt::format("mapping.fold = '{}'", fold));
    EXPECT_GT(accuracy_of_concept(robust, 0), usual - 10) << fold;
  }
  RoundLoop limited = run.loop(kAttackedFeroma + std::string("mapping.norm_limit = 5.0"));
  EXPECT_GT(accuracy_of_concept(limited, 0), usual - 5);
}

TEST(LyingClients, AForgedProfileLetsALiarReachAnotherConcept) {
  ToyRun run(two_concepts_in_turn());
  // Client 1 is of the second concept; with the profile of client 0 it is mixed into the first.
  run.attack = attack(AttackKind::forged_profile, "1");
  RoundLoop loop = run.loop(kAttackedFeroma + std::string("mapping.global_share = 0.0"));
  test::play_all(loop);
  const RoundTrace& trace = *loop.algorithm().trace();
  ASSERT_EQ(trace.sources[1], ClientId{1});
  EXPECT_GT(trace.mixing.at(2, 1), 0.1) << "client 2 of the first concept takes from it";
  EXPECT_LT(trace.mixing.at(3, 1), 0.05) << "client 3 of the second does not";
}

TEST(LyingClients, ALimitOnNormsLeavesHonestRunsAlone) {
  ToyRun run(two_concepts_in_turn());
  RoundLoop without = run.loop(kAttackedFeroma);
  test::play_all(without);
  RoundLoop with = run.loop(kAttackedFeroma + std::string("mapping.norm_limit = 5.0"));
  test::play_all(with);
  EXPECT_EQ(test::served_bits(without.algorithm()), test::served_bits(with.algorithm()));
}

TEST(LyingClients, ARefusedUpdateIsOfAClientThatDroppedOut) {
  ToyRun run(two_concepts_in_turn());
  run.attack = attack(AttackKind::scale, "5");
  RoundLoop loop = run.loop(kAttackedFeroma + std::string("mapping.norm_limit = 5.0"));
  while (loop.finished_rounds() < loop.rounds()) {
    const RoundRecord record = loop.play_round();
    ASSERT_EQ(record.dropped.size(), 1U);
    EXPECT_EQ(record.dropped[0].client, 5U);
    EXPECT_NE(record.dropped[0].reason.find("update must be at most 5 times as long"), std::string::npos);
    EXPECT_EQ(record.clients.size(), 7U);
  }
}

}  // namespace
}  // namespace feroma
