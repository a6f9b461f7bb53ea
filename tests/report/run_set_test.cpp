#include "feroma/report/run_set.h"

#include <gtest/gtest.h>

#include <set>

#include "feroma/core/files.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::holds;
using test::runs_in;
using test::sample_result;
using test::TempFolder;
using test::write_cell;

TEST(RunSet, FindsRunsThreeFoldersDownAndNoDeeper) {
  const TempFolder folder;
  write_cell(folder / "sweep/cells/0a1b", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "one", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "a/b/c/d", {}, {sample_result("fedavg", 70)});
  const RunSet set = runs_in(folder.path());
  ASSERT_EQ(set.runs.size(), 2U);
  EXPECT_EQ(set.runs[0].folder, folder / "one");
  EXPECT_EQ(set.runs[1].folder, folder / "sweep/cells/0a1b");
}

TEST(RunSet, ARunThatTwoPathsReachCountsOnce) {
  const TempFolder folder;
  write_cell(folder / "one", {}, {sample_result("fedavg", 70)});
  EXPECT_EQ(find_runs(std::vector{folder.path(), folder / "one"}, false).runs.size(), 1U);
}

TEST(RunSet, AFolderWithoutRunsIsBadUsageThatNamesIt) {
  const TempFolder folder;
  std::filesystem::create_directories(folder / "empty");
  expect_error(ErrorCode::invalid_config, "empty: holds no run", [&] { return runs_in(folder / "empty"); });
  expect_error(ErrorCode::invalid_config,
               "gone: must be a folder with runs in it or a sweep's results.db, and it does not exist",
               [&] { return runs_in(folder / "gone"); });
}

TEST(RunSet, TheDatabaseOfASweepStandsForItsFolder) {
  const TempFolder folder;
  write_cell(folder / "sweep/cells/0a1b", {}, {sample_result("fedavg", 70)});
  write_file_atomically(folder / "sweep/results.db", std::string_view("SQLite"));
  const RunSet set = runs_in(folder / "sweep/results.db");
  ASSERT_EQ(set.runs.size(), 1U);
  EXPECT_EQ(set.runs[0].folder, folder / "sweep/cells/0a1b");
  expect_error(ErrorCode::invalid_config, "other.db: must be a folder", [&] {
    write_file_atomically(folder / "sweep/other.db", std::string_view("SQLite"));
    return runs_in(folder / "sweep/other.db");
  });
}

TEST(RunSet, OfOneSweepHasItsCellsAlone) {
  const TempFolder folder;
  write_cell(folder / "all/sweep/cells/0a1b", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "all/sweep/cells/2c3d", {.seed = 43}, {sample_result("fedavg", 71)});
  write_cell(folder / "all/sweep/cells/4e5f", {.seed = 44}, {sample_result("fedavg", 72)});
  write_cell(folder / "all/alone", {.seed = 45}, {sample_result("fedavg", 73)});
  make_writable_folder(folder / "all/sweep/sweeps");
  write_file_atomically(folder / "all/sweep/sweeps/levels.toml",
                        std::string_view("[sweep]\nfile = \"levels.toml\"\n[cell]\n0a1b = \"low\"\n"
                                         "4e5f = \"high\"\nffff = \"not begun\"\n"));
  write_file_atomically(folder / "all/sweep/sweeps/other.toml",
                        std::string_view("[sweep]\nfile = \"other.toml\"\n[cell]\n2c3d = \"low\"\n"));
  // What is damaged in another sweep is no matter here.
  write_file_atomically(folder / "all/sweep/cells/2c3d/summary.json", std::string_view("{"));
  const RunSet set = find_runs(std::vector{folder / "all"}, /*keep_going=*/false, "levels");
  ASSERT_EQ(set.runs.size(), 2U);
  EXPECT_EQ(set.runs[0].folder, folder / "all/sweep/cells/0a1b");
  EXPECT_EQ(set.runs[1].folder, folder / "all/sweep/cells/4e5f");
  EXPECT_EQ(set.notes, std::vector<std::string>{"sweep levels: 1 of its 3 cells are not there"});
  EXPECT_EQ(make_study(set, {}, published_figures()).notes, set.notes);
  expect_error(ErrorCode::invalid_config,
               "--sweep level: no sweep of this name ran in these folders, there are: levels, other; did you mean "
               "levels?",
               [&] { return find_runs(std::vector{folder / "all"}, false, "level"); });
  expect_error(ErrorCode::invalid_config, "--sweep levels: no sweep ran in these folders",
               [&] { return find_runs(std::vector{folder / "all/alone"}, false, "levels"); });
}

TEST(RunSet, ADamagedListOfASweepIsNamed) {
  const TempFolder folder;
  write_cell(folder / "cells/0a1b", {}, {sample_result("fedavg", 70)});
  make_writable_folder(folder / "sweeps");
  write_file_atomically(folder / "sweeps/levels.toml", std::string_view("[cell\n"));
  expect_error(ErrorCode::invalid_data, "levels.toml",
               [&] { return find_runs(std::vector{folder.path()}, false, "levels"); });
}

TEST(RunSet, AnUnfinishedRunIsKeptWithoutResultsAndNoted) {
  const TempFolder folder;
  write_cell(folder / "run", {}, {sample_result("fedavg", 70)});
  std::filesystem::remove(folder / "run/summary.json");
  const RunSet set = runs_in(folder.path());
  ASSERT_EQ(set.runs.size(), 1U);
  std::vector<std::string> notes;
  EXPECT_TRUE(results_of(set, notes).empty());
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("run: not finished"), std::string::npos) << notes[0];
}

TEST(RunSet, ADamagedFileIsAnErrorThatNamesItOrALineToKeepGoingWith) {
  const TempFolder folder;
  write_cell(folder / "bad", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "good", {}, {sample_result("fedavg", 71)});
  write_file_atomically(folder / "bad/summary.json", std::string_view("{\"scenario\""));
  expect_error(ErrorCode::invalid_data, "bad/summary.json", [&] { return runs_in(folder.path()); });
  const RunSet set = runs_in(folder.path(), /*keep_going=*/true);
  EXPECT_EQ(set.runs.size(), 1U);
  ASSERT_EQ(set.damaged.size(), 1U);
  EXPECT_NE(set.damaged[0].find("bad/summary.json"), std::string::npos);
  write_file_atomically(folder / "bad/config.toml", std::string_view("[scenario\n"));
  expect_error(ErrorCode::invalid_data, "bad/config.toml", [&] { return runs_in(folder.path()); });
}

TEST(RunSet, ARunThatHasLostItsConfigIsNotPassedOver) {
  const TempFolder folder;
  write_cell(folder / "bad", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "good", {}, {sample_result("fedavg", 71)});
  write_file_atomically(folder / "bad/manifest.json", std::string_view("{}"));
  std::filesystem::remove(folder / "bad/config.toml");
  expect_error(ErrorCode::invalid_data, "bad/config.toml", [&] { return runs_in(folder.path()); });
  EXPECT_EQ(runs_in(folder.path(), /*keep_going=*/true).damaged.size(), 1U);
}

TEST(RunSet, AConfigThatIsNotOneOfARunIsNamed) {
  const TempFolder folder;
  write_cell(folder / "bad", {}, {sample_result("fedavg", 70)});
  for (const char* config : {"foo = 1\n", "scenario = 1\n", ""}) {
    write_file_atomically(folder / "bad/config.toml", std::string_view(config));
    expect_error(ErrorCode::invalid_data, "bad/config.toml: must say scenario.seed",
                 [&] { return runs_in(folder.path()); });
    EXPECT_EQ(runs_in(folder.path(), /*keep_going=*/true).damaged.size(), 1U);
  }
}

std::string requirement(bool quick, const std::string& dataset, double value) {
  return fmt::format(
      R"({{"quick":{},"requirements":{{"R1":{{"dataset":"{}","results":{{"gap_w2_low_max":{{"value":{}}}}}}}}}}})",
      quick, dataset, value);
}

TEST(RunSet, ReadsRequirementOneOfABench) {
  const TempFolder folder;
  write_file_atomically(folder / "requirements.json", requirement(false, "mnist", 0.5));
  EXPECT_EQ(runs_in(folder.path()).requirement->values.at("gap_w2_low_max"), 0.5);
  for (const char* text :
       {R"({"quick":false,"requirements":{"R1":{"results":{}}}})", R"({"requirements":{"R1":{"results":{}}}})",
        R"({"requirements":{"R1":{"dataset":"mnist","results":{}}}})"}) {
    write_file_atomically(folder / "requirements.json", std::string_view(text));
    EXPECT_TRUE(holds(runs_in(folder.path()).requirement->differs, "of an earlier version"));
  }
  for (const char* text : {"{}", "[]", R"({"requirements":{"R1":[]}})", R"({"requirements":{"R1":{"results":7}}})",
                           R"({"quick":"no","requirements":{"R1":{"dataset":"mnist","results":{}}}})",
                           R"({"quick":false,"requirements":{"R1":{"dataset":7,"results":{}}}})"}) {
    write_file_atomically(folder / "requirements.json", std::string_view(text));
    expect_error(ErrorCode::invalid_data, "requirements.json", [&] { return runs_in(folder.path()); });
  }
}

TEST(RunSet, OfSeveralMeasurementsOneCountsAndTheOthersAreNamed) {
  const TempFolder folder;
  const auto write = [&folder](const char* name, const std::string& text) {
    make_writable_folder(folder / name);
    write_file_atomically(folder / name / "requirements.json", text);
  };
  write("a", requirement(true, "mnist", 1));
  write("b", requirement(true, "mnist", 1));
  write("c", requirement(false, "mnist", 2));
  write("d", requirement(false, "mnist", 3));
  const RunSet set = runs_in(folder.path());
  EXPECT_EQ(set.requirement->values.at("gap_w2_low_max"), 2) << "the first that is as the paper's";
  EXPECT_EQ(set.requirement->differs, "");
  ASSERT_EQ(set.notes.size(), 3U);
  for (const auto& [note, name] : {std::pair{0, "b"}, std::pair{1, "a"}, std::pair{2, "d"}}) {
    EXPECT_EQ(set.notes[static_cast<std::size_t>(note)],
              fmt::format("{}: left out, R1 is read from {}", (folder / name / "requirements.json").string(),
                          (folder / "c/requirements.json").string()));
  }
}

TEST(RunSet, ResultsOfAnotherConfigAreRefused) {
  const TempFolder folder;
  write_cell(folder / "a", {.seed = 42}, {sample_result("fedavg", 70)});
  write_cell(folder / "b", {.seed = 43}, {sample_result("fedavg", 70)});
  const std::string other = read_text(folder / "b/summary.json");
  write_file_atomically(folder / "a/summary.json", other);
  expect_error(ErrorCode::invalid_data, "a/summary.json: seed of fedavg must be config.toml's 42, got 43",
               [&] { return runs_in(folder.path()); });
  write_cell(folder / "a", {.seed = 43}, {sample_result("ifca", 70)});
  write_file_atomically(folder / "a/summary.json", other);
  expect_error(ErrorCode::invalid_data, "a/summary.json: label fedavg must be one of config.toml",
               [&] { return runs_in(folder.path()); });
}

// A study.toml with 5 and with 20 rounds: the default gives way in the first, and nobody wrote another method.
TEST(OurResults, WhatADefaultGaveWayToMakesNoOtherMethod) {
  const TempFolder folder;
  const auto write = [&](const std::string& gave_way) {
    const std::vector<ResultRecord> results{sample_result("feroma-auto", 80), sample_result("fedavg", 70)};
    write_cell(folder / "long", {.keys = "warmup_rounds = 5\n"}, results);
    write_cell(folder / "short", {.keys = "warmup_rounds = 2\n", .rounds = 5, .manifest = gave_way}, results);
    write_cell(folder / "seed", {.drifts = 4, .seed = 43, .manifest = R"({"fitted": {"scenario.drifts": "5"}})"},
               {sample_result("local", 60)});
  };
  const auto labels = [&] {
    std::vector<std::string> notes;
    std::set<std::string> all;
    std::set<std::string> settings;
    for (const OurResult& result : results_of(runs_in(folder.path()), notes)) {
      all.insert(result.label);
      settings.insert(result.setting);
    }
    EXPECT_EQ(settings.size(), 2U) << "of one seed the data bore fewer stages";
    return all;
  };
  write(R"({"adapted": {"algorithm.0.warmup_rounds": "3", "algorithm.1.warmup_rounds": "5"},
            "fitted": {"algorithm.0.warmup_rounds": "2"}})");
  EXPECT_EQ(labels().count("feroma-auto (warmup_rounds=3)"), 1U) << "what was written comes before what was fitted";
  write(R"({"adapted": {"algorithm.0.warmup_rounds": "5", "algorithm.1.warmup_rounds": "5", "gone": "1"}})");
  EXPECT_EQ(labels(), (std::set<std::string>{"feroma-auto", "fedavg", "local"}));
  for (const auto& run : runs_in(folder.path()).runs) {
    if (run.folder == folder / "short") {
      EXPECT_EQ(to_string(run.config.at("algorithm.0.warmup_rounds").value), "2") << "what it ran with is shown";
    }
  }
  for (const char* earlier : {"{}", "[]", "damaged", R"({"adapted": 7})", R"({"adapted": {"scenario.rounds": 20}})"}) {
    write(earlier);
    EXPECT_EQ(labels().count("feroma-auto (warmup_rounds=2)"), 1U) << earlier;
  }
}

TEST(OurResults, OneLabelWithTwoConfigsIsToldApart) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "b", {.drifts = 10}, {sample_result("fedavg", 70)});
  for (const auto& [name, value] : {std::pair{"a", "epoch"}, std::pair{"b", "round"}}) {
    const std::string config = read_text(folder / (std::string(name) + "/config.toml"));
    write_file_atomically(folder / (std::string(name) + "/config.toml"),
                          config + "momentum_reset = \"" + value + "\"\nother = 1\n");
  }
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(runs_in(folder.path()), notes);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].label, "fedavg (momentum_reset=epoch)");
  EXPECT_EQ(results[1].label, "fedavg (momentum_reset=round)");
}

TEST(OurResults, OneOddRunDoesNotRenameTheOthers) {
  const TempFolder folder;
  for (const int drifts : {5, 10, 20}) {
    const std::string name = fmt::format("{}", drifts);
    write_cell(folder / name, {.drifts = drifts}, {sample_result("fedavg", 70)});
    const std::string config = read_text(folder / (name + "/config.toml"));
    write_file_atomically(folder / (name + "/config.toml"),
                          config + fmt::format("momentum_reset = \"{}\"\n", drifts == 20 ? "round" : "epoch"));
  }
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(runs_in(folder.path()), notes);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].label, "fedavg");
  EXPECT_EQ(results[1].label, "fedavg (momentum_reset=round)") << "of folder 20, after 10";
  EXPECT_EQ(results[2].label, "fedavg");
}

TEST(OurResults, AKeyThatAnOlderVersionLacksMakesNoTie) {
  // As many runs of the preset without the key as with it: they are one config, and the variant is still seen.
  const TempFolder folder;
  const std::string old_keys = "preset = \"reference\"\nprofile.replicates = 3\n";
  write_cell(folder / "old", {.keys = old_keys}, {sample_result("feroma-reference", 90)});
  write_cell(folder / "new", {.seed = 43, .keys = old_keys + "profile.later = 1\n"},
             {sample_result("feroma-reference", 90)});
  write_cell(folder / "variant", {.keys = "preset = \"reference\"\nprofile.replicates = 1\nprofile.later = 1\n"},
             {sample_result("feroma-m1", 80)});
  std::vector<std::string> notes;
  for (const OurResult& result : results_of(runs_in(folder.path()), notes)) {
    const bool variant = result.label == "feroma-m1";
    EXPECT_EQ(result.altered, variant ? std::set<std::string>{"profile.replicates"} : std::set<std::string>{})
        << result.label;
  }
}

TEST(OurResults, VersionsOfAMethodAreToldApart) {
  const TempFolder folder;
  write_cell(folder / "new", {.keys = "version.fedavg = 2\n"}, {sample_result("fedavg", 80)});
  write_cell(folder / "old", {.seed = 43}, {sample_result("fedavg", 70)});
  write_cell(folder / "scaled", {.tables = "[version]\nstandardise = 2\n"}, {sample_result("fedavg", 90)});
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(runs_in(folder.path()), notes);
  ASSERT_EQ(results.size(), 3U);
  EXPECT_EQ(results[0].label, "fedavg (version.fedavg=2)");
  EXPECT_EQ(results[1].label, "fedavg");
  EXPECT_EQ(results[0].setting, results[1].setting);
  EXPECT_NE(results[2].setting, results[1].setting);
}

TEST(OurResults, VariantsAreSeenWhereNoRunGoesByThePresetsName) {
  const TempFolder folder;
  const std::string preset = "preset = \"auto\"\n";
  write_cell(folder / "plain", {.keys = preset + "mapping.kernel = \"rbf\"\nprofile.replicates = 3\n"},
             {sample_result("feroma-plain", 90)});
  write_cell(folder / "kernel", {.keys = preset + "mapping.kernel = \"uniform\"\nprofile.replicates = 3\n"},
             {sample_result("feroma-uniform", 80)});
  write_cell(folder / "fewer", {.keys = preset + "mapping.kernel = \"rbf\"\nprofile.replicates = 1\n"},
             {sample_result("feroma-m1", 80)});
  std::vector<std::string> notes;
  std::map<std::string, std::set<std::string>> altered;
  for (const OurResult& result : results_of(runs_in(folder.path()), notes)) {
    altered[result.label] = result.altered;
  }
  EXPECT_EQ(altered.at("feroma-plain"), std::set<std::string>{});
  EXPECT_EQ(altered.at("feroma-uniform"), std::set<std::string>{"mapping.kernel"});
  EXPECT_EQ(altered.at("feroma-m1"), std::set<std::string>{"profile.replicates"});
}

TEST(OurResults, WhereALedgerLiesMakesNoOtherSetting) {
  const TempFolder folder;
  for (const int seed : {42, 43}) {
    write_cell(folder / fmt::format("{}", seed),
               {.seed = seed, .tables = fmt::format("[privacy]\nledger = \"ledger-{}\"\n", seed)},
               {sample_result("feroma-auto", 90)});
  }
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(runs_in(folder.path()), notes);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(results[0].setting, results[1].setting);
}

TEST(OurResults, TheSameConfigAndSeedTwiceCountsOnceAndIsNoted) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "b", {}, {sample_result("fedavg", 90)});
  std::vector<std::string> notes;
  const std::vector<OurResult> results = results_of(runs_in(folder.path()), notes);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].result.accuracy, 70);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("b: fedavg of seed 42"), std::string::npos) << notes[0];
}

TEST(ComparableAccuracy, IsByFewLabelsOnConceptShiftsOnly) {
  ResultRecord result = sample_result("feroma-auto", 50);  // known 51, few labels 50.75
  RunEntry run;
  run.config["scenario.shift"] = {std::string("covariate"), ""};
  EXPECT_EQ(comparable_accuracy(run, result), 50);
  run.config["scenario.shift"] = {std::string("concept_label"), ""};
  EXPECT_EQ(comparable_accuracy(run, result), 50.75);
  result.accuracy_few_label.reset();
  EXPECT_EQ(comparable_accuracy(run, result), 51);
  result.accuracy_known.reset();
  EXPECT_EQ(comparable_accuracy(run, result), 50);
}

}  // namespace
}  // namespace feroma
