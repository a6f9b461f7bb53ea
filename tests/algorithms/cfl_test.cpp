#include <gtest/gtest.h>

#include <limits>

#include "tests/algorithms/scripted_cfl.h"
#include "tests/algorithms/two_concept_scenario.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using test::Groups;
using test::opposed;
using test::Scripted;
using test::Steps;
using test::ToyRun;

TEST(Cfl, SplitsGroupsThatPullApart) {
  Scripted run;
  run.move_together(6, 3);
  const float before = run.received(0)->values()[0];
  run.play(opposed(6, 5));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4}, {1, 3, 5}}));
  EXPECT_FLOAT_EQ(run.received(2)->values()[0], before + 5);  // the parent's model and the part's own mean
  EXPECT_FLOAT_EQ(run.received(3)->values()[0], before - 5);
  EXPECT_FLOAT_EQ(run.received(3)->values()[2], 0.03F);
}

TEST(Cfl, EqualUpdatesNeverSplit) {
  Scripted run;
  run.move_together(6, 5);
  for (int i = 0; i < 10; ++i) {
    Steps small;
    for (std::uint32_t k = 0; k < 6; ++k) {
      small[k] = {0.01F, 0.02F};
    }
    run.play(small);
  }
  EXPECT_EQ(run.groups().size(), 1U);
}

TEST(Cfl, ClustersPartitionTheClientsAfterSeveralSplits) {
  Scripted run;
  const auto everybody = [](const Groups& groups) {
    std::multiset<std::uint32_t> all;
    for (const auto& group : groups) {
      all.insert(group.begin(), group.end());
    }
    return all;
  };
  run.move_together(12, 3);
  run.play(opposed(12, 5));  // by parity
  run.move_together(12, 1);
  Steps by_third;  // each child again, by k / 2 mod 2: members have no common numbering
  for (std::uint32_t k = 0; k < 12; ++k) {
    by_third[k] = {0, 0, k / 2 % 2 == 0 ? 5.0F : -5.0F};
  }
  run.play(by_third);
  EXPECT_EQ(run.groups(), (Groups{{0, 4, 8}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}}));
  EXPECT_EQ(everybody(run.groups()).size(), 12U);
  run.move_together(12, 1);
  Steps apart;  // a third split, of one cluster only
  for (std::uint32_t k = 0; k < 12; ++k) {
    apart[k] = {0, 1.0F};
  }
  apart[0] = {0, 0, 0, 5};
  apart[4] = {0, 0, 0, -2.5F};
  apart[8] = {0, 0, 0, -2.5F};
  run.play(apart);
  EXPECT_EQ(run.groups(), (Groups{{0}, {1, 5, 9}, {2, 6, 10}, {3, 7, 11}, {4, 8}}));
  EXPECT_EQ(everybody(run.groups()).size(), 12U);
}

TEST(Cfl, ASplitMayDiscardTheRound) {
  CflOptions options;
  options.split_round = SplitRound::discard;
  Scripted run(options);
  run.move_together(6, 3);
  const std::vector<float> before(run.received(0)->values().begin(), run.received(0)->values().end());
  run.play(opposed(6, 5));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4}, {1, 3, 5}}));
  for (const std::uint32_t client : {0U, 1U}) {
    const ParametersPtr model = run.received(client);
    EXPECT_EQ(std::vector<float>(model->values().begin(), model->values().end()), before);
  }
}

// As above, but by position: each child's members are 0 to 5 in its own list, and the second child
// to split has the last word on clients 0 to 5. Whom nobody names stays where it was.
TEST(Cfl, PositionsTakenForClientsAreRightOnce) {
  CflOptions options;
  options.split_members = SplitMembers::positions;
  Scripted run(options);
  run.move_together(12, 3);
  run.play(opposed(12, 5));
  EXPECT_EQ(run.groups(), (Groups{{0, 2, 4, 6, 8, 10}, {1, 3, 5, 7, 9, 11}}));
  run.move_together(12, 1);
  Steps again;
  for (std::uint32_t k = 0; k < 12; ++k) {
    again[k] = {0, 0, k / 2 % 2 == 0 ? 5.0F : -5.0F};
  }
  run.play(again);
  EXPECT_EQ(run.groups(), (Groups{{6, 8, 10}, {0, 2, 4, 7, 9, 11}, {}, {1, 3, 5}}));
}

TEST(Cfl, ClientsCountByTheirExamplesOrAllAlike) {
  const auto mean = [](CflWeights weights) {
    CflOptions options;
    options.weights = weights;
    Scripted run(options);
    Parameters far = run.received(0)->clone();
    far.values()[0] += 4;
    std::map<ClientId, Message> answers{{ClientId{0}, {{{"model", share(std::move(far))}, {"num_examples", Ints{30}}}}},
                                        {ClientId{1}, {{{"model", run.received(1)}, {"num_examples", Ints{10}}}}}};
    StageSeconds seconds;
    run.algorithm().uplink(1, 0, answers, seconds);
    return run.received(0)->values()[0];
  };
  EXPECT_FLOAT_EQ(mean(CflWeights::examples), 3);
  EXPECT_FLOAT_EQ(mean(CflWeights::uniform), 2);
}

TEST(Cfl, WaitsForTheWarmUp) {
  CflOptions options;
  options.warmup = 5;
  Scripted run(options);
  run.move_together(6, 3);
  run.play(opposed(6, 5));
  run.play(opposed(6, 5));
  EXPECT_EQ(run.groups().size(), 1U);
  run.play(opposed(6, 5));
  EXPECT_EQ(run.groups().size(), 2U);
}

TEST(Cfl, APairStaysTogether) {
  Scripted run;
  run.move_together(2, 3);
  run.play(opposed(2, 5));
  EXPECT_EQ(run.groups().size(), 1U);
}

// Three directions at 120 degrees: the largest cosine across any two parts is -1/2, the gap sqrt(3/4) = 0.87.
TEST(Cfl, PartsMustBeFarEnoughApart) {
  const Steps star{{0, {5, 0}}, {1, {-2.5F, 4.3301F}}, {2, {-2.5F, -4.3301F}}};
  for (const auto& [gamma, clusters] : {std::pair{0.86, 2U}, std::pair{0.87, 1U}}) {
    CflOptions options;
    options.gamma_max = gamma;
    Scripted run(options);
    run.move_together(3, 3);
    run.play(star);
    EXPECT_EQ(run.groups().size(), clusters) << gamma;
  }
}

// After rounds with a mean update of length sqrt(18) = 4.24: eps1 = 1.27, eps2 = 2.55.
TEST(Cfl, RelativeThresholdsFollowTheLargestMeanUpdate) {
  const auto clusters_after = [](const CflOptions& options, float length, float common) {
    Scripted run(options);
    run.move_together(6, 3);
    Steps steps = opposed(6, length);
    for (auto& [client, step] : steps) {
      step.push_back(common);
    }
    run.play(steps);
    return run.groups().size();
  };
  EXPECT_EQ(clusters_after({}, 1.9F, 0), 2U);   // 2.69 > 2.55
  EXPECT_EQ(clusters_after({}, 1.7F, 0), 1U);   // 2.40
  EXPECT_EQ(clusters_after({}, 5, 1.2F), 2U);   // the mean is 1.20 < 1.27
  EXPECT_EQ(clusters_after({}, 5, 1.35F), 1U);  // 1.35
  CflOptions options;
  options.relative_eps1 = 0.36;
  EXPECT_EQ(clusters_after(options, 5, 1.35F), 2U);
  EXPECT_EQ(clusters_after(options, 1.9F, 0), 1U);
  options.relative_eps2 = 1.5;
  EXPECT_EQ(clusters_after(options, 1.9F, 0), 2U);
}

TEST(Cfl, AbsoluteThresholdsAreNumbers) {
  CflOptions options;
  options.threshold_mode = CflThresholds::absolute;
  const auto clusters_after = [&](float length) {
    Scripted run(options);
    run.move_together(6, 3);
    run.play(opposed(6, length));
    return run.groups().size();
  };
  EXPECT_EQ(clusters_after(1.2F), 2U);  // 1.70 > 1.6
  EXPECT_EQ(clusters_after(1.1F), 1U);
  options.eps2 = 1.5;
  EXPECT_EQ(clusters_after(1.1F), 2U);
  options.eps1 = 0.01;  // the noise of `opposed` alone is 0.025
  EXPECT_EQ(clusters_after(1.1F), 1U);
}

TEST(Cfl, TheLargestCoordinateMayStandForTheLength) {
  CflOptions options;
  options.threshold_mode = CflThresholds::absolute;
  options.norm = CflNorm::largest_coordinate;
  Scripted run(options);
  run.move_together(6, 3);
  run.play(opposed(6, 1.5F));  // of length 2.1, but no coordinate above 1.6
  EXPECT_EQ(run.groups().size(), 1U);
  run.play(opposed(6, 1.7F));
  EXPECT_EQ(run.groups().size(), 2U);
}

TEST(Cfl, RunningStatisticsHaveNoSay) {
  const ModelSpec model{"norm", {1, 2, 2}, 2, {BatchNorm{"bn"}, Flatten{}, Linear{"fc", 2}}};
  const auto layout = make_layout(model);
  const auto buffer = std::find_if(layout->segments.begin(), layout->segments.end(),
                                   [](const Segment& s) { return s.kind == SegmentKind::buffer; });
  ASSERT_NE(buffer, layout->segments.end());
  Scripted run({}, model);
  run.move_together(6, 3);
  Steps steps;
  for (std::uint32_t k = 0; k < 6; ++k) {
    steps[k].resize(buffer->offset + 1);
    steps[k].back() = k % 2 == 0 ? 50.0F : -50.0F;
  }
  run.play(steps);
  EXPECT_EQ(run.groups().size(), 1U);
}

TEST(Cfl, RefusesBrokenAnswers) {
  Scripted run;
  const ParametersPtr model = run.received(0);
  const auto answer = [&](ParametersPtr answered, std::int64_t examples) {
    std::map<ClientId, Message> answers;
    answers[ClientId{3}] = {{{"model", std::move(answered)}, {"num_examples", Ints{examples}}}};
    test::deliver(run.algorithm(), 1, 0, std::move(answers));
    return 0;
  };
  expect_error(ErrorCode::invalid_data, "[cfl] client 3's num_examples must be in 1..1000000000, got 0",
               [&] { return answer(model, 0); });
  Parameters broken = model->clone();
  broken.values()[0] = std::numeric_limits<float>::infinity();
  expect_error(ErrorCode::invalid_data, "finite", [&] { return answer(share(std::move(broken)), 5); });
  expect_error(ErrorCode::invalid_data, "must have", [&] {
    return answer(share(Parameters(make_layout(test::toy_model({1, 1, 1}, 2)))), 5);
  });
}

TEST(Cfl, WithoutSplitsIsFedAvg) {
  ToyRun run;
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  RoundLoop cfl = run.loop("name = 'cfl'\nwarmup = 100");
  test::play_all(fedavg);
  test::play_all(cfl);
  EXPECT_EQ(test::served_bits(fedavg.algorithm()), test::served_bits(cfl.algorithm()));
  EXPECT_EQ(fedavg.totals().bytes_down, cfl.totals().bytes_down);
  EXPECT_EQ(fedavg.totals().bytes_up, cfl.totals().bytes_up);
  EXPECT_EQ(fedavg.totals().passes.forward, cfl.totals().passes.forward);
  EXPECT_EQ(fedavg.totals().passes.backward, cfl.totals().passes.backward);
}

TEST(Cfl, SendsOneModelDown) {
  const ModelSpec model = lenet5({1, 28, 28}, 10);
  Scripted run({}, model);
  EXPECT_EQ(run.algorithm().downlink(1, 0, ClientId{0}).bytes(), 4 * 61'706);
}

TEST(Cfl, SeparatesTwoConcepts) {
  ScenarioOptions scenario = test::two_concepts(30);
  scenario.seed = 43;
  ToyRun run(scenario);
  RoundLoop cfl = run.loop("name = 'cfl'");
  RoundLoop fedavg = run.loop("name = 'fedavg'");
  test::play_all(cfl);
  test::play_all(fedavg);
  EXPECT_TRUE(test::separates_concepts(run.federation, *cfl.algorithm().clusters()));
  EXPECT_EQ(cfl.algorithm().clusters()->models.size(), 2U);
  EXPECT_GT(*cfl.evaluate().accuracy_known, 95);
  EXPECT_LT(*fedavg.evaluate().accuracy_known, 80);  // what both concepts agree on, and the larger one
}

TEST(Cfl, OneConceptStaysTogether) {
  ScenarioOptions scenario = test::two_concepts(30);
  scenario.perm_bank = 1;
  ToyRun run(scenario);
  RoundLoop cfl = run.loop("name = 'cfl'");
  test::play_all(cfl);
  EXPECT_EQ(cfl.algorithm().clusters()->models.size(), 1U);
}

// The toy's clients differ in how much they agree with their part, so a few may be put wrong.
TEST(Cfl, SeparatesTwoConceptsWhereClientsComeAndGo) {
  ScenarioOptions scenario = test::two_concepts(60);
  scenario.seed = 43;
  scenario.participation = 0.6;
  ToyRun run(scenario);
  RoundLoop cfl = run.loop("name = 'cfl'");
  test::play_all(cfl);
  const ClusterView view = *cfl.algorithm().clusters();
  EXPECT_EQ(view.models.size(), 2U);
  EXPECT_EQ(view.present.size(), 6U);
  EXPECT_EQ(view.shares.size(), 10U);
  EXPECT_TRUE(test::separates_concepts(run.federation, view));
  EXPECT_GT(*cfl.evaluate().accuracy_known, 95);
}

TEST(Cfl, ResumesAfterASplit) {
  ToyRun run(test::two_concepts(8));
  RoundLoop whole = run.loop("name = 'cfl'\nthreshold_mode = 'absolute'\neps1 = 10");
  RoundLoop first = run.loop("name = 'cfl'\nthreshold_mode = 'absolute'\neps1 = 10");
  test::play_all(whole);
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(first.play_round());
  }
  ASSERT_GE(first.algorithm().clusters()->models.size(), 2U);
  RoundLoop second = run.loop("name = 'cfl'\nthreshold_mode = 'absolute'\neps1 = 10");
  second.load(first.save(), "checkpoint");
  EXPECT_EQ(first.algorithm().clusters()->shares, second.algorithm().clusters()->shares);
  test::play_all(second);
  EXPECT_EQ(test::served_bits(whole.algorithm()), test::served_bits(second.algorithm()));
}

TEST(Cfl, MomentumResetChangesTraining) {
  ToyRun run;
  RoundLoop round = run.loop("name = 'cfl'");
  RoundLoop epoch = run.loop("name = 'cfl'\nmomentum_reset = 'epoch'");
  static_cast<void>(round.play_round());
  static_cast<void>(epoch.play_round());
  EXPECT_NE(test::served_bits(round.algorithm()), test::served_bits(epoch.algorithm()));
}

TEST(CflOptions, ThresholdsOfTheOtherModeAreRefused) {
  ToyRun run;
  const auto refuses = [&](const std::string& options, std::string_view part) {
    expect_error(ErrorCode::invalid_config, part, [&] { return run.loop("name = 'cfl'\n" + options).rounds(); });
  };
  refuses("eps1 = 0.5", "algorithm.0.eps1 would be ignored: it needs threshold_mode absolute");
  refuses("eps2 = 0.5", "algorithm.0.eps2 would be ignored");
  refuses("threshold_mode = 'absolute'\nrelative_eps1 = 0.5", "relative_eps1 would be ignored");
  refuses("threshold_mode = 'absolute'\nrelative_eps2 = 0.5", "relative_eps2 would be ignored");
  refuses("gamma_max = 2.0", "in 0..1");
}

}  // namespace
}  // namespace feroma
