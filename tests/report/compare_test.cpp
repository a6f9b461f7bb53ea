#include "feroma/report/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "feroma/report/study.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::holds;
using test::line_with;
using test::sample_result;
using test::study_of;
using test::TempFolder;
using test::write_cell;
using test::write_study;

TEST(Compare, RanksTestsAndCriticalDifference) {
  const TempFolder folder;
  write_study(folder);
  const Study study = study_of(folder);
  ASSERT_TRUE(study.comparison);
  const Comparison& comparison = *study.comparison;
  EXPECT_EQ(comparison.labels, (std::vector<std::string>{"feroma-auto", "fedavg", "ifca"}));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(comparison.friedman.mean_ranks[i], static_cast<double>(i + 1), 1e-12);
  }
  EXPECT_FALSE(comparison.by_seed);
  EXPECT_NEAR(comparison.friedman.chi_square, 4, 1e-12);  // 2 settings that agree: N (k - 1)
  ASSERT_EQ(comparison.pairs.size(), 2U);
  EXPECT_EQ(comparison.reference, "feroma-auto");
  EXPECT_EQ(comparison.pairs[0].n, 6U) << "pairs are tested over settings and seeds";
  EXPECT_DOUBLE_EQ(comparison.pairs[0].mean_difference, 19);
  EXPECT_DOUBLE_EQ(comparison.pairs[0].wilcoxon->p, 2.0 / 64);
  EXPECT_DOUBLE_EQ(*comparison.pairs[0].adjusted, 4.0 / 64);
  EXPECT_FALSE(comparison.pairs[1].t) << "differences that do not vary have no t";
  EXPECT_NEAR(comparison.critical_difference, 2.343 * std::sqrt(12.0 / 12), 1e-3);
}

TEST(Compare, SeedsOfASettingAreOneBlock) {
  // Four algorithms at seed 42, two of them at two more: the more seeds must not put the other two out.
  const TempFolder folder;
  for (const int drifts : {5, 10}) {
    write_cell(folder / fmt::format("all-{}", drifts), {.drifts = drifts},
               {sample_result("feroma-auto", 90), sample_result("fedavg", 80), sample_result("ifca", 70),
                sample_result("cfl", 60)});
    for (const int seed : {43, 44}) {
      write_cell(folder / fmt::format("two-{}-{}", drifts, seed), {.drifts = drifts, .seed = seed},
                 {sample_result("feroma-auto", 50), sample_result("fedavg", 81)});
    }
  }
  const Study study = study_of(folder);
  ASSERT_TRUE(study.comparison);
  EXPECT_EQ(study.comparison->labels, (std::vector<std::string>{"feroma-auto", "fedavg", "ifca", "cfl"}));
  EXPECT_EQ(study.comparison->friedman.blocks, 2U);
  EXPECT_EQ(study.comparison->blocks[0], (std::vector<double>{90, 80, 70, 60})) << "by the seed that all have";
  EXPECT_EQ(study.comparison->left_out, 0U);
  EXPECT_EQ(study.comparison->pairs[0].n, 6U) << "all that feroma-auto and fedavg have in common";
  EXPECT_NEAR(study.comparison->pairs[0].mean_difference, (10 + 2 * (50 - 81)) / 3.0, 1e-12);
  EXPECT_EQ(study.comparison->pairs[1].n, 2U);
  EXPECT_TRUE(holds(study_text(study, false), "over 2 settings: Friedman's")) << study_text(study, false);
}

TEST(Compare, ASettingCountsByTheMeanOfTheSeedsThatAllHave) {
  const TempFolder folder;
  write_study(folder);
  const Study study = study_of(folder);
  EXPECT_EQ(study.comparison->blocks[0], (std::vector<double>{91, 72, 41}));
}

TEST(Compare, OfOneSettingSeedsAreTheBlocks) {
  const TempFolder folder;
  for (const int seed : {42, 43, 44}) {
    write_cell(folder / fmt::format("{}", seed), {.seed = seed},
               {sample_result("feroma-auto", 90), sample_result("fedavg", 80 + seed - 42)});
  }
  const Study study = study_of(folder);
  ASSERT_TRUE(study.comparison);
  EXPECT_TRUE(study.comparison->by_seed);
  EXPECT_EQ(study.comparison->friedman.blocks, 3U);
  EXPECT_TRUE(holds(study_text(study, false), "over 3 seeds: Friedman's"));
}

TEST(Compare, AnotherReferenceAndAnUnknownOne) {
  const TempFolder folder;
  write_study(folder);
  EXPECT_EQ(study_of(folder, {.versus = "ifca"}).comparison->reference, "ifca");
  expect_error(ErrorCode::invalid_config, "did you mean fedavg?",
               [&] { return study_of(folder, {.versus = "fedavgg"}); });
}

TEST(Compare, BlocksWithoutAnAlgorithmDoNotCount) {
  const TempFolder folder;
  write_study(folder);
  write_cell(folder / "odd", {.drifts = 20}, {sample_result("fedavg", 70), sample_result("cfl", 75)});
  const Study study = study_of(folder);
  EXPECT_EQ(study.comparison->left_out, 1U);
  EXPECT_EQ(study.comparison->labels_left_out, std::vector<std::string>{"cfl"});
  EXPECT_EQ(study.comparison->pairs.size(), 2U) << "cfl has nothing in common with the best";
  EXPECT_EQ(study.comparison->friedman.blocks, 2U);
  EXPECT_TRUE(holds(study_text(study, false), "not counted, for want of one of these algorithms: 1 setting\n"));
}

TEST(Compare, LeavesOutWhatWouldLeaveNoBlockComplete) {
  const TempFolder folder;
  write_study(folder);
  // No block has both ifca and cfl.
  for (const char* level : {"medium", "high"}) {
    write_cell(folder / fmt::format("cfl-{}", level), {.level = level},
               {sample_result("fedavg", 70), sample_result("feroma-auto", 90), sample_result("cfl", 60)});
  }
  const Study study = study_of(folder);
  ASSERT_TRUE(study.comparison);
  EXPECT_EQ(study.comparison->labels, (std::vector<std::string>{"feroma-auto", "fedavg"}));
  EXPECT_EQ(study.comparison->labels_left_out, (std::vector<std::string>{"cfl", "ifca"}));
  EXPECT_EQ(study.comparison->friedman.blocks, 4U);
  // They are tested all the same, as one family of tests.
  ASSERT_EQ(study.comparison->pairs.size(), 3U);
  EXPECT_EQ(study.comparison->pairs[1].label, "cfl");
  EXPECT_EQ(study.comparison->pairs[1].n, 2U);
  EXPECT_EQ(study.comparison->pairs[2].label, "ifca");
  EXPECT_EQ(study.comparison->pairs[2].n, 6U);
  EXPECT_DOUBLE_EQ(study.comparison->pairs[2].wilcoxon->p, 2.0 / 64);
  EXPECT_DOUBLE_EQ(*study.comparison->pairs[2].adjusted, 2 * 2.0 / 64) << "second of three";
  std::string text = study_text(study, false);
  text.erase(0, text.find("Friedman's"));
  EXPECT_TRUE(holds(line_with(text, "ifca "), "  -  ")) << "no rank";
  EXPECT_TRUE(holds(line_with(text, "ifca "), "+50.00"));
  EXPECT_TRUE(holds(text, "ifca is missing in too many of them and is left out of the ranks"));
  const Study versus = study_of(folder, {.versus = "cfl"});
  ASSERT_TRUE(versus.comparison);
  EXPECT_EQ(versus.comparison->reference, "cfl") << "whoever is asked for stays";
  EXPECT_EQ(versus.comparison->friedman.blocks, 2U);
}

TEST(Compare, SaysSoWhenNothingCanBeCompared) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "b", {.seed = 43}, {sample_result("ifca", 75)});
  const Study study = study_of(folder);
  EXPECT_FALSE(study.comparison);
  ASSERT_EQ(study.notes.size(), 1U);
  EXPECT_TRUE(holds(study.notes[0], "no tests: no two algorithms were found that have 2 seeds in common"));
}

TEST(Compare, WhoeverIsAskedForIsNotPassedOver) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70), sample_result("ifca", 75)});
  EXPECT_TRUE(study_of(folder).notes.empty()) << "one run says nothing of seeds, and nobody asked";
  const Study study = study_of(folder, {.versus = "ifca"});
  EXPECT_FALSE(study.comparison);
  ASSERT_EQ(study.notes.size(), 1U);
  EXPECT_TRUE(holds(study.notes[0], "no tests: no two algorithms, ifca among them, were found that have 2 seeds"));
}

TEST(Compare, WithATableItIsAboutItsExperiments) {
  const TempFolder folder;
  write_study(folder);
  for (int seed = 42; seed < 45; ++seed) {
    write_cell(folder / fmt::format("px100-{}", seed), {.seed = seed, .clients = 100},
               {sample_result("ifca", 99), sample_result("fedavg", 1), sample_result("feroma-auto", 2)});
  }
  const Study study = study_of(folder, {.tables = {"main_appe_mnist_px"}});
  ASSERT_TRUE(study.comparison);
  EXPECT_EQ(study.comparison->friedman.blocks, 2U) << "none with 100 clients";
  EXPECT_EQ(study.comparison->labels.front(), "feroma-auto");
  EXPECT_TRUE(holds(study_text(study, false), "feroma-auto leads by"));
}

/// Two settings of a shift in which FedAvg has 70 after the last round, 71 known and 75 in its best round, and
/// feroma-auto 90, 90.75 with few labels and 90.5 in a best round that nobody asks for.
void write_best_rounds(const TempFolder& folder, const std::string& shift) {
  ResultRecord fedavg = sample_result("fedavg", 70);
  fedavg.accuracy_best_round = 75;
  for (const int drifts : {5, 10}) {
    write_cell(folder / fmt::format("{}", drifts), {.shift = shift, .drifts = drifts},
               {fedavg, sample_result("feroma-auto", 90)});
  }
}

TEST(Compare, FedAvgIsThatOfTheTablesItStandsBeside) {
  const TempFolder folder;
  write_best_rounds(folder, "covariate");
  const std::string last = "FedAvg counts by its model of the last round";
  const std::string best = "FedAvg counts by its model of the round with the best validation loss";
  const Study plain = study_of(folder);
  ASSERT_TRUE(plain.comparison);
  EXPECT_DOUBLE_EQ(plain.comparison->pairs.at(0).mean_difference, 20);
  EXPECT_TRUE(holds(study_text(plain, false), last)) << study_text(plain, false);
  for (const StudyOptions& options :
       {StudyOptions{.tables = {"main_appe_mnist_px"}}, StudyOptions{.against_paper = true}}) {
    const Study beside = study_of(folder, options);
    ASSERT_FALSE(beside.tables.empty());
    ASSERT_TRUE(beside.comparison);
    EXPECT_EQ(beside.comparison->blocks.at(0), (std::vector<double>{90, 75}));
    EXPECT_DOUBLE_EQ(beside.comparison->pairs.at(0).mean_difference, 15);
    EXPECT_TRUE(holds(study_text(beside, false), best)) << study_text(beside, false);
    EXPECT_FALSE(holds(study_text(beside, false), last));
  }
}

TEST(Compare, OnConceptsFedAvgIsThatOfTheTablesToo) {
  const TempFolder folder;
  write_best_rounds(folder, "concept_label");
  const Study plain = study_of(folder);
  ASSERT_TRUE(plain.comparison);
  EXPECT_DOUBLE_EQ(plain.comparison->pairs.at(0).mean_difference, 90.75 - 71);
  EXPECT_TRUE(holds(study_text(plain, false), "P(Y|X) counts by few labels where a method has such a figure"));
  const Study beside = study_of(folder, {.tables = {"main_appe_mnist_pyx"}});
  ASSERT_TRUE(beside.comparison);
  EXPECT_DOUBLE_EQ(beside.comparison->pairs.at(0).mean_difference, 90.75 - 75);
}

TEST(Compare, WithoutTablesOfThePaperFedAvgIsItsLastRound) {
  // --against paper finds no table for this dataset, so the tables of settings are all there are.
  const TempFolder folder;
  ResultRecord fedavg = sample_result("fedavg", 70);
  fedavg.accuracy_best_round = 75;
  for (const int drifts : {5, 10}) {
    write_cell(folder / fmt::format("{}", drifts), {.drifts = drifts, .dataset = "emnist"},
               {fedavg, sample_result("feroma-auto", 90)});
  }
  const Study study = study_of(folder, {.against_paper = true});
  EXPECT_TRUE(study.tables.empty());
  ASSERT_TRUE(study.comparison);
  EXPECT_DOUBLE_EQ(study.comparison->pairs.at(0).mean_difference, 20);
}

TEST(Compare, SaysNothingOfFedAvgOrConceptsWithoutThem) {
  const TempFolder folder;
  for (const int drifts : {5, 10}) {
    write_cell(folder / fmt::format("{}", drifts), {.drifts = drifts},
               {sample_result("ifca", 70), sample_result("feroma-auto", 90)});
  }
  const Study study = study_of(folder);
  ASSERT_TRUE(study.comparison);
  EXPECT_EQ(study.comparison->notes().size(), 1U) << "how settings count";
}

}  // namespace
}  // namespace feroma
