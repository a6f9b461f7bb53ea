#include "feroma/partition/scenario.h"

#include <gtest/gtest.h>

#include <functional>

namespace feroma {
namespace {

/// What is wrong with the default scenario after an edit, for a dataset of MNIST's size.
std::vector<std::string> problems_of(const std::function<void(ScenarioOptions&)>& edit, std::size_t train = 60000,
                                     std::size_t test = 10000) {
  ScenarioOptions options;
  edit(options);
  Problems problems;
  options.check(10, train, test, problems);
  return problems.messages();
}

using Messages = std::vector<std::string>;

// Published ANDA calls label swapping Px_y; without its prefix the name would be ambiguous.
TEST(Shift, AndaNamesNeedTheirPrefix) {
  const auto read = [](const std::string& name) {
    Problems problems;
    SettingsReader reader(parse_settings("[scenario]\nshift = '" + name + "'", "test"), problems);
    ScenarioOptions options;
    reader.read(options, "scenario");
    problems.raise();
    return options.shift;
  };
  EXPECT_EQ(read("anda2024:Px_y"), Shift::concept_label);
  EXPECT_EQ(read("anda2024:Py_x"), Shift::concept_feature);
  EXPECT_EQ(read("anda2024:Px"), Shift::covariate);
  EXPECT_EQ(read("anda2024:Py"), Shift::label_prior);
  EXPECT_THROW(read("Px_y"), Error);
}

TEST(ScenarioCheck, AcceptsEveryShiftLevelAndGenerator) {
  for (const Shift shift : {Shift::covariate, Shift::label_prior, Shift::concept_label, Shift::concept_feature}) {
    for (const Level level : {Level::low, Level::medium, Level::high}) {
      for (const Generator generator : {Generator::clean, Generator::feroma}) {
        EXPECT_EQ(problems_of([&](ScenarioOptions& o) {
                    o.shift = shift;
                    o.level = level;
                    o.generator = generator;
                    o.force_change = true;
                  }),
                  Messages{});
      }
    }
  }
}

TEST(ScenarioCheck, MoreStagesThanRoundsAreRefused) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.drifts = 21; }),
            Messages{"scenario.drifts must be <= scenario.rounds (20), got 21"});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.drifts = 20; }), Messages{});
}

TEST(ScenarioCheck, MoreRoundsThanCanBeShownAreRefused) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.rounds = 1'000'001; }),
            Messages{"scenario.rounds must be <= 1000000, got 1000001"});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.rounds = 1'000'000; }), Messages{});
}

TEST(ScenarioCheck, MoreClientsThanSamplesAreRefused) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.clients = 10001; }),
            Messages{"scenario.clients must be <= 10000 so that each has a training and a test sample, got 10001"});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.clients = 10000; }), Messages{});
}

TEST(ScenarioCheck, ClientsThatDrawMayBeMoreThanTheSamples) {
  const auto with = [](int clients) {
    return problems_of([&](ScenarioOptions& o) {
      o.clients = clients;
      o.samples_per_client = 300;
    });
  };
  EXPECT_EQ(with(100000), Messages{});
  EXPECT_EQ(with(1000000), Messages{});
  EXPECT_EQ(with(1000001), Messages{"scenario.clients must be <= 1000000, got 1000001"});
}

TEST(ScenarioCheck, AClientDrawsNoMoreThanThereIs) {
  const auto with = [](int samples) {
    return problems_of([&](ScenarioOptions& o) { o.samples_per_client = samples; });
  };
  EXPECT_EQ(with(1), Messages{});
  EXPECT_EQ(with(60000), Messages{});
  EXPECT_EQ(with(60001),
            Messages{"scenario.samples_per_client must be in 0..60000, the dataset's training samples, got 60001"});
  EXPECT_EQ(with(-1),
            Messages{"scenario.samples_per_client must be in 0..60000, the dataset's training samples, got -1"});
}

TEST(ScenarioCheck, TestClientsAreAmongTheClients) {
  const auto with = [](int test_clients) {
    return problems_of([&](ScenarioOptions& o) { o.test_clients = test_clients; });
  };
  EXPECT_EQ(with(20), Messages{});
  EXPECT_EQ(with(21), Messages{"scenario.test_clients must be in 0..scenario.clients (20), got 21"});
  EXPECT_EQ(with(-1), Messages{"scenario.test_clients must be in 0..scenario.clients (20), got -1"});
}

TEST(ScenarioCheck, StagesWithoutSamplesAreRefusedWhereClientsDraw) {
  // 21 samples are three shares of 6: with 10 stages the 30 that leave a share as it is, however many clients draw.
  EXPECT_EQ(problems_of(
                [](ScenarioOptions& o) {
                  o.clients = 1000;
                  o.samples_per_client = 6;
                },
                21, 12),
            Messages{"scenario.drifts must leave every stage some samples; client 0 has 6 for its stages, got 10"});
}

TEST(ScenarioCheck, StagesWithoutSamplesAreRefused) {
  // 2 clients x 10 stages stay below 30, so 12 samples are not duplicated: 6 per client for 10 stages.
  const auto edit = [](ScenarioOptions& o) { o.clients = 2; };
  EXPECT_EQ(problems_of(edit, 12, 12),
            Messages{"scenario.drifts must leave every stage some samples; client 0 has 6 for its stages, got 10"});
  // Chunks of ceil(10 / 10) = 1 fit exactly; the second client's ceil(11 / 10) = 2 run out after six stages.
  EXPECT_EQ(problems_of(edit, 20, 12), Messages{});
  EXPECT_EQ(problems_of(edit, 21, 12),
            Messages{"scenario.drifts must leave every stage some samples; client 1 has 11 for its stages, got 10"});
}

TEST(ScenarioCheck, RotationsAreOneTwoOrFour) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.rotations = 3; }),
            Messages{"scenario.rotations must be 1, 2 or 4 (or 0 for the level's value), got 3"});
  for (const int rotations : {1, 2, 4}) {
    EXPECT_EQ(problems_of([&](ScenarioOptions& o) { o.rotations = rotations; }), Messages{});
  }
}

TEST(ScenarioCheck, AnEntryHasNoMoreClassesThanTheDataset) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.shift = Shift::label_prior;
              o.classes_per_entry = 11;
            }),
            Messages{"scenario.classes_per_entry must be <= the dataset's 10 classes, got 11"});
}

TEST(ScenarioCheck, DifferentClassSetsMustExist) {
  const auto with = [](Shift shift, Generator generator, int bank) {
    return problems_of([&](ScenarioOptions& o) {
      o.shift = shift;
      o.generator = generator;
      o.bank = bank;
    });
  };
  const Messages refused{"scenario.bank must be <= 45, the number of different sets of 2 out of 10 classes, got 46"};
  EXPECT_EQ(with(Shift::label_prior, Generator::clean, 46), refused);
  EXPECT_EQ(with(Shift::label_prior, Generator::clean, 45), Messages{});
  EXPECT_EQ(with(Shift::label_prior, Generator::feroma, 46), Messages{}) << "entries may coincide there";
  EXPECT_EQ(with(Shift::concept_feature, Generator::feroma, 46),
            Messages{"scenario.bank must be <= 45, the number of different sets of 8 out of 10 classes, got 46"});
  EXPECT_EQ(with(Shift::label_prior, Generator::feroma, 10001), Messages{"scenario.bank must be <= 10000, got 10001"});
}

TEST(ScenarioCheck, SwappedClassesAreFewEnoughToEnumerate) {
  const auto with = [](int swapped) {
    return problems_of([&](ScenarioOptions& o) {
      o.shift = Shift::concept_label;
      o.swapped_classes = swapped;
    });
  };
  EXPECT_EQ(with(9), Messages{"scenario.swapped_classes must be <= 8, got 9"});
  EXPECT_EQ(with(8), Messages{});
}

TEST(ScenarioCheck, AParameterTheShiftDoesNotUseIsRefused) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.shift = Shift::label_prior;
              o.rotations = 2;
              o.colours = 2;
              o.swapped_classes = 3;
            }),
            (Messages{"scenario.rotations must be 0 because shift \"label_prior\" does not use it, got 2",
                      "scenario.colours must be 0 because shift \"label_prior\" does not use it, got 2",
                      "scenario.swapped_classes must be 0 because shift \"label_prior\" does not use it, got 3"}));
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.bank = 4;
              o.classes_per_entry = 2;
            }),
            (Messages{"scenario.bank must be 0 because shift \"covariate\" does not use it, got 4",
                      "scenario.classes_per_entry must be 0 because shift \"covariate\" does not use it, got 2"}));
}

TEST(ScenarioCheck, AForcedChangeNeedsTwoDistributions) {
  const auto with = [](bool force) {
    return problems_of([&](ScenarioOptions& o) {
      o.rotations = 1;
      o.colours = 1;
      o.force_change = force;
    });
  };
  EXPECT_EQ(with(true), Messages{"scenario.force_change must be false when there is a single distribution, got true"});
  EXPECT_EQ(with(false), Messages{});
}

TEST(ScenarioCheck, PartitionsAndMixturesDoNotChangeOverTime) {
  for (const Shift shift : {Shift::dirichlet, Shift::quantity, Shift::covariate_and_label_prior, Shift::iid}) {
    EXPECT_EQ(problems_of([&](ScenarioOptions& o) { o.shift = shift; }),
              Messages{fmt::format("scenario.drift_mode must be \"static\" because shift \"{}\" does not change over "
                                   "time, got \"trDR_teND\"",
                                   name_of(shift))});
    EXPECT_EQ(problems_of([&](ScenarioOptions& o) {
                o.shift = shift;
                o.drift_mode = DriftMode::fixed;
                o.drifts = 1;
              }),
              Messages{});
  }
}

TEST(ScenarioCheck, StaticHasOneStage) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.drift_mode = DriftMode::fixed; }),
            Messages{"scenario.drifts must be 1 because drift_mode \"static\" has a single stage, got 10"});
}

TEST(ScenarioCheck, AnOptionTheModeDoesNotUseIsRefused) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.drift_mode = DriftMode::fixed;
              o.drifts = 1;
              o.continual = true;
              o.max_distributions = 2;
              o.test_rule = TestRule::last_set;
              o.unseen_rate = 0.5;
              o.scale_rule = ScaleRule::paper;
            }),
            (Messages{"scenario.test_rule must be \"auto\" because drift_mode is \"static\", got \"last_set\"",
                      "scenario.continual must be false because drift_mode \"static\" does not use it, got true",
                      "scenario.max_distributions must be 0 because drift_mode \"static\" does not use it, got 2",
                      "scenario.scale_rule must be \"auto\" because drift_mode \"static\" does not use it, got "
                      "\"paper\"",
                      "scenario.unseen_rate must be 0 because drift_mode \"static\" does not use it, got 0.5"}));
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.alpha = 0.5;
              o.skew_max = 1;
              o.strict = true;
              o.perm_bank = 4;
            }),
            (Messages{"scenario.perm_bank must be 0 because shift \"covariate\" does not use it, got 4",
                      "scenario.skew_max must be 0 because drift_mode \"trDR_teND\" does not use it, got 1",
                      "scenario.alpha must be 0 because shift \"covariate\" does not use it, got 0.5",
                      "scenario.strict must be false because drift_mode \"trDR_teND\" does not use it, got true"}));
}

TEST(ScenarioCheck, OnlyAStrictBankIsTakenInTurn) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.in_turn = true; }),
            Messages{"scenario.in_turn must be false without scenario.strict, got true"});
}

TEST(ScenarioCheck, TestRulesFitTheMode) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.test_rule = TestRule::unseen; }),
            Messages{"scenario.test_rule must be a rule of distributions that occur in training because drift_mode is "
                     "\"trDR_teND\", got \"unseen\""});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.drift_mode = DriftMode::trDA_teDR;
              o.test_rule = TestRule::own_last;
            }),
            Messages{"scenario.test_rule must be \"auto\" or \"unseen\" because drift_mode is \"trDA_teDR\", got "
                     "\"own_last\""});
}

TEST(ScenarioCheck, UnseenTestClientsNeedADistributionLeftOver) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.shift = Shift::concept_label;
              o.unseen_rate = 0.2;
            }),
            Messages{"scenario.unseen_rate must be 0 because training leaves no distribution of shift "
                     "\"concept_label\" unseen, got 0.2"});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) { o.unseen_rate = 0.2; }), Messages{});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.unseen_rate = 0.2;
              o.unseen_from = UnseenFrom::bank;
              o.colours = 1;
            }),
            Messages{"scenario.unseen_rate must be 0 because training leaves no distribution of shift "
                     "\"covariate\" unseen, got 0.2"});
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.shift = Shift::label_prior;
              o.unseen_from = UnseenFrom::bank;
            }).size(),
            1U);
}

TEST(ScenarioCheck, ReportsEveryProblemAtOnce) {
  EXPECT_EQ(problems_of([](ScenarioOptions& o) {
              o.drifts = 30;
              o.clients = 20000;
              o.rotations = 3;
            }).size(),
            3U);
}

}  // namespace
}  // namespace feroma
