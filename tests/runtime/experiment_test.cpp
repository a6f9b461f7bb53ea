#include "feroma/runtime/experiment.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "feroma/core/config_identity.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

constexpr const char* kMinimal = "[scenario]\nclients = 5\n[[algorithm]]\nname = 'fedavg'\n";

Experiment read(const std::string& text) { return read_experiment(parse_settings(text, "my.toml")); }

TEST(Experiment, ReadsAMinimalFile) {
  const Experiment experiment = read(kMinimal);
  EXPECT_EQ(experiment.scenario.clients, 5);
  EXPECT_EQ(experiment.scenario.rounds, 20);
  ASSERT_EQ(experiment.algorithms.size(), 1U);
  EXPECT_EQ(experiment.algorithms[0].label, "fedavg");
}

TEST(Experiment, ResolvedConfigGivesItselfBack) {
  const Experiment experiment = read(std::string(kMinimal) + "[[algorithm]]\nname = 'feroma'\nmapping.width = 0.7\n");
  const std::string resolved = to_toml(experiment.resolved());
  EXPECT_EQ(resolved, to_toml(read(resolved).resolved()));
  EXPECT_EQ(resolved.find("\"auto\""), resolved.find("preset = \"auto\"") + 9);  // only the preset is called auto
}

TEST(Experiment, ResolvedConfigSpellsOutEveryTable) {
  const Settings resolved = read(kMinimal).resolved();
  EXPECT_EQ(resolved.at("training.engine").value, SettingValue("native"));
  EXPECT_EQ(resolved.at("privacy.mode").value, SettingValue("off"));
  EXPECT_EQ(resolved.at("algorithm.0.label").value, SettingValue("fedavg"));
}

TEST(Experiment, WhatIsMeasuredBesideARunDecidesNothing) {
  const Experiment tested = read(std::string(kMinimal) + "[evaluation]\nevery = 3\n");
  EXPECT_EQ(tested.evaluation.every, 3);
  EXPECT_EQ(to_toml(tested.resolved()), to_toml(read(kMinimal).resolved()));
  EXPECT_EQ(tested.written().at("evaluation.every").value, SettingValue(std::int64_t{3}));
  EXPECT_EQ(to_toml(config_identity().of(tested.written())), to_toml(config_identity().of(tested.resolved())));
  EXPECT_EQ(evaluation_of(tested.written()).every, 3);
  EXPECT_EQ(evaluation_of(tested.resolved()).every, 0) << "a run from before there were tests";
  expect_error(ErrorCode::invalid_config, "evaluation.every must be >= -1, got -2",
               [] { return read(std::string(kMinimal) + "[evaluation]\nevery = -2\n").evaluation.every; });
}

TEST(Experiment, NamesWhatChangesItsBits) {
  const auto resolved = [](SimdTarget target, int rounds) {
    Settings settings = read(kMinimal).resolved();
    settings["training.simd"] = {std::string(name_of(target)), "test"};
    settings["scenario.rounds"] = {std::int64_t{rounds}, "test"};
    return settings;
  };
  using enum SimdTarget;
  EXPECT_EQ(changes_of_bits(resolved(avx2, 5), resolved(avx512, 5)), "") << "both fuse products";
  EXPECT_EQ(changes_of_bits(resolved(avx2, 5), resolved(avx512, 6)), "scenario.rounds was 5, is 6")
      << "what may differ is not named";
  EXPECT_EQ(changes_of_bits(resolved(avx2, 5), resolved(sse4, 6)),
            "scenario.rounds was 5, is 6; training.simd was \"avx2\", is \"sse4\"");
}

TEST(Experiment, AConfigThatNamesOtherVersionsOfItsMethodsIsRefused) {
  const std::string text = "[version]\nstandardise = 2\n[[algorithm]]\nname = 'fedavg'\nversion.fedavg = 3\n";
  const std::string expected =
      "a.toml:5: algorithm.0.version.fedavg must be 1, which is what this program does, or be left out, got 3\n"
      "a.toml:2: version.standardise must be 1, which is what this program does, or be left out, got 2";
  expect_error(ErrorCode::invalid_config, expected, [&] { return read_experiment(parse_settings(text, "a.toml")); });
  const Experiment kept = read_kept_experiment(parse_settings(text, "a.toml"));
  EXPECT_EQ(kept.algorithms.front().name, "fedavg") << "of what is there already, whoever asks decides";
  EXPECT_NO_THROW((void)read_experiment(parse_settings("[[algorithm]]\nname = 'fedavg'\nversion.fedavg = 1\n", "a")));
}

TEST(Experiment, EngineFollowsTheConfig) {
  EXPECT_EQ(read(kMinimal).engine(), EngineKind::native);
  EXPECT_EQ(read("[training]\nengine = 'torch'\n[[algorithm]]\nname = 'fedavg'\n").engine(), EngineKind::torch);
}

TEST(Experiment, ATorchScriptFileIsForTheTorchEngine) {
  const std::string config = "[training]\nmodel = 'mine/net.pt'\nengine = '{}'\n[[algorithm]]\nname = 'fedavg'\n";
  const auto with = [&](std::string engine) { return read(fmt::format(fmt::runtime(config), engine)); };
  EXPECT_EQ(with("auto").engine(), EngineKind::torch);
  EXPECT_EQ(with("auto").resolved().at("training.engine").value, SettingValue("torch"));
  expect_error(ErrorCode::invalid_config, "training.engine must be auto or torch for a TorchScript file",
               [&] { return with("native").scenario.clients; });
}

TEST(Experiment, MembershipIsCheckedAgainstTheScenario) {
  const Experiment experiment = read(std::string(kMinimal) + "[membership]\ninitial = 3\nevents = '2:+4'\n");
  EXPECT_EQ(experiment.membership.initial, 3);
  expect_error(ErrorCode::invalid_config, "my.toml:6: membership.initial must be <= the 5 clients that train, got 9",
               [&] { return read(std::string(kMinimal) + "[membership]\ninitial = 9\n").scenario.clients; });
}

TEST(Experiment, LiarsAreAmongTheClientsThatTrain) {
  const std::string liar = "[membership]\ntest_only = 1\n[attack]\nkind = 'scale'\nclients = '";
  EXPECT_EQ(read(kMinimal + liar + "3'\n").attack.kind, AttackKind::scale);
  expect_error(ErrorCode::invalid_config, "my.toml:9: attack.clients must be in 0..3, the clients that train, got 4",
               [&] { return read(kMinimal + liar + "4'\n").scenario.clients; });
}

TEST(Experiment, AGivenLabelIsKept) {
  EXPECT_EQ(read("[[algorithm]]\nname = 'feroma'\nlabel = 'mine'\n").algorithms[0].label, "mine");
  EXPECT_EQ(read("[[algorithm]]\nname = 'feroma'\npreset = 'paper'\n").algorithms[0].label, "feroma-paper");
}

TEST(Experiment, ResolvesTheSimdTarget) {
  EXPECT_EQ(std::get<std::string>(read(kMinimal).resolved().at("training.simd").value),
            name_of(simd_targets().front()));
  const std::string last(name_of(simd_targets().back()));
  const Experiment experiment = read(std::string(kMinimal) + "[training]\nsimd = '" + last + "'\n");
  EXPECT_EQ(std::get<std::string>(experiment.resolved().at("training.simd").value), last);
}

TEST(Experiment, RefusesASimdTargetOfAnotherMachineWithTheListOfThisOne) {
  const bool arm = simd_targets().front() == SimdTarget::neon;
  const std::string foreign = arm ? "avx2" : "neon";
  expect_error(ErrorCode::invalid_config,
               "my.toml:6: training.simd must be auto or one of what this machine has (" + simd_target_names() +
                   "), got \"" + foreign + "\"",
               [&] { return read(std::string(kMinimal) + "[training]\nsimd = '" + foreign + "'\n").scenario.clients; });
}

TEST(Experiment, LabelsAreUniqueWithinARun) {
  const Experiment experiment =
      read(std::string(kMinimal) + "[[algorithm]]\nname = 'fedavg'\nmomentum_reset = 'epoch'\n");
  EXPECT_EQ(experiment.algorithms[1].label, "fedavg-2");
}

TEST(Experiment, AcceptsThePapersNotation) {
  EXPECT_EQ(read("[scenario]\nshift = 'P(Y|X)'\n[[algorithm]]\nname = 'fedavg'\n").scenario.shift,
            Shift::concept_label);
}

struct Mistake {
  const char* text;
  const char* part;
};

class BadConfig : public testing::TestWithParam<Mistake> {};

TEST_P(BadConfig, IsRefusedByName) {
  expect_error(ErrorCode::invalid_config, GetParam().part, [] { return read(GetParam().text).scenario.clients; });
}

INSTANTIATE_TEST_SUITE_P(
    All, BadConfig,
    testing::Values(
        Mistake{"[scenario]\nclients = 5\n", "at least one [[algorithm]]"},
        Mistake{"[scenario]\nclient = 5\n[[algorithm]]\nname = 'fedavg'\n", "did you mean scenario.clients?"},
        Mistake{"[scenario]\nnum_clients = 5\n[[algorithm]]\nname = 'fedavg'\n", "did you mean scenario.clients?"},
        Mistake{"[scenario]\nclients = 0\n[[algorithm]]\nname = 'fedavg'\n", "scenario.clients must be >= 1, got 0"},
        Mistake{"[scenario]\nclients = 'many'\n[[algorithm]]\nname = 'fedavg'\n", "must be an integer"},
        Mistake{"[scenario]\nclients = 2.5\n[[algorithm]]\nname = 'fedavg'\n", "must be an integer"},
        Mistake{"[scenario]\nparticipation = 1.5\n[[algorithm]]\nname = 'fedavg'\n", "> 0 and <= 1"},
        Mistake{"[scenario]\nlevel = 'hihg'\n[[algorithm]]\nname = 'fedavg'\n", "did you mean \"high\"?"},
        Mistake{"[scenario]\nshift = 'Px_y'\n[[algorithm]]\nname = 'fedavg'\n", "must be one of"},
        Mistake{"[scenario]\ndataset = 'mnits'\n[[algorithm]]\nname = 'fedavg'\n", "mnist"},
        Mistake{"[training]\nlr = 0.1\n[[algorithm]]\nname = 'fedavg'\n", "did you mean training.learning_rate?"},
        Mistake{"[training]\nlearning_rate = 0\n[[algorithm]]\nname = 'fedavg'\n",
                "training.learning_rate must be > 0"},
        Mistake{"[training]\nlearning_rate = nan\n[[algorithm]]\nname = 'fedavg'\n", "training.learning_rate"},
        Mistake{"[training]\nengine = 'tpu'\n[[algorithm]]\nname = 'fedavg'\n", "training.engine must be one of"},
        Mistake{"[privacy]\nmode = 'strict'\n[[algorithm]]\nname = 'fedavg'\n", "privacy.mode must be one of off"},
        Mistake{"[privacy]\nepsilon_total = 2\n[[algorithm]]\nname = 'fedavg'\n",
                "privacy.epsilon_total would be ignored"},
        Mistake{"[training]\nengine = 'torch'\n[privacy]\nmode = 'pure'\n[[algorithm]]\nname = 'feroma'\n",
                "training.engine must be native for privacy.mode pure"},
        Mistake{"[training]\nstandardise = true\n[privacy]\nmode = 'gaussian'\n[[algorithm]]\nname = 'feroma'\n",
                "training.standardise must be false for privacy.mode gaussian"},
        Mistake{"[[algorithm]]\nname = 'fedavg'\nlabel = '../x'\n", "label"},
        Mistake{"[[algorithm]]\nname = 'fedavg'\nlabel = '.hidden'\n", "label"},
        Mistake{"[[algorithm]]\nname = 'fedavg'\n"
                "label = 'a1234567890123456789012345678901234567890123456789012345678901234'\n",
                "up to 64"},
        Mistake{"[scenario]\nrounds = 5\n[[algorithm]]\nname = 'feroma'\nwarmup_rounds = 5\n",
                "algorithm.0.warmup_rounds must be < scenario.rounds (5), got 5"},
        Mistake{"[training]\nmodel = 'lenet6'\n[[algorithm]]\nname = 'fedavg'\n", "training.model"},
        Mistake{"[[algorithm]]\npreset = 'auto'\n", "algorithm.0.name"},
        Mistake{"clients = 5\n[[algorithm]]\nname = 'fedavg'\n", "unknown key clients"},
        Mistake{"[scenario\n", "my.toml:1"}));

TEST(Experiment, ReportsAllMistakesAtOnce) {
  try {
    static_cast<void>(read("[scenario]\nclients = 0\nroundz = 3\n[[algorithm]]\nname = 'fedagv'\n"));
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("scenario.clients"), std::string::npos);
    EXPECT_NE(text.find("scenario.roundz"), std::string::npos);
    EXPECT_NE(text.find("algorithm.0.name"), std::string::npos);
    EXPECT_NE(text.find("my.toml:2"), std::string::npos);
  }
}

}  // namespace
}  // namespace feroma
