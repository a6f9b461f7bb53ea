#include "feroma/report/study.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "feroma/core/files.h"
#include "src/report/cell_text.h"
#include "src/report/csv.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/expect_error.h"
#include "tests/report/count.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using testing::count;
using testing::holds;
using testing::runs_in;
using testing::sample_result;
using testing::study_of;
using testing::TempFolder;
using testing::write_cell;

/// The line that starts like this; empty where there is none.
std::string line_with(const std::string& text, const std::string& start) {
  const std::size_t at = text.find("\n" + start) + 1;
  return at == 0 ? "" : text.substr(at, text.find('\n', at) - at);
}

/// Two settings with three seeds each, in which feroma leads fedavg and fedavg leads ifca.
void write_study(const TempFolder& folder) {
  for (int seed = 42; seed < 45; ++seed) {
    for (const int drifts : {5, 10}) {
      const double extra = seed - 42;
      write_cell(folder / fmt::format("d{}-s{}", drifts, seed), {.drifts = drifts, .seed = seed},
                 {sample_result("ifca", 40 + extra), sample_result("fedavg", 70 + 2 * extra),
                  sample_result("feroma-auto", 90 + extra)});
    }
  }
}

TEST(Groups, AreRunsThatDifferInTheirSeedsOnly) {
  const TempFolder folder;
  write_study(folder);
  const Study study = study_of(folder);
  ASSERT_EQ(study.groups.size(), 2U);
  EXPECT_EQ(study.groups[1].title, "mnist, covariate, low, drifts 10, rounds 20, clients 20, generator feroma");
  const ResultGroup& group = study.groups[0];
  ASSERT_EQ(group.rows.size(), 3U);
  EXPECT_EQ(group.rows[0].label, "feroma-auto");
  EXPECT_EQ(group.rows[0].rank, 1U);
  EXPECT_EQ(group.rows[0].seeds, 3U);
  EXPECT_DOUBLE_EQ(group.rows[0].values[0]->mean, 91);
  EXPECT_DOUBLE_EQ(*group.rows[0].values[0]->deviation, 1);
  EXPECT_FALSE(group.rows[2].values[3]) << "ifca has no few-label figure";
}

TEST(Groups, SayWhatElseDiffers) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70)});
  write_cell(folder / "b", {.tables = "[privacy]\nmode = \"gaussian\"\n"}, {sample_result("fedavg", 60)});
  const Study study = study_of(folder);
  ASSERT_EQ(study.groups.size(), 2U);
  EXPECT_TRUE(holds(study.groups[1].title, "privacy.mode gaussian")) << study.groups[1].title;
}

TEST(Groups, AreSortedByWhatTheyAreNotByFolder) {
  const TempFolder folder;
  const std::vector<testing::CellRun> cells{{.level = "high", .drifts = 5},
                                            {.level = "medium", .drifts = 10},
                                            {.level = "medium", .drifts = 5, .clients = 100},
                                            {.level = "medium", .drifts = 5, .clients = 20},
                                            {.level = "low", .drifts = 20},
                                            {.level = "low", .drifts = 20, .dataset = "fmnist"}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    write_cell(folder / fmt::format("{}", i), cells[i], {sample_result("fedavg", 70)});
  }
  std::vector<std::string> names;
  for (const ResultGroup& group : study_of(folder).groups) {
    names.push_back(group.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "fmnist-covariate-low-drifts-20-clients-20", "mnist-covariate-low-drifts-20-clients-20",
                       "mnist-covariate-medium-drifts-5-clients-20", "mnist-covariate-medium-drifts-5-clients-100",
                       "mnist-covariate-medium-drifts-10-clients-20", "mnist-covariate-high-drifts-5-clients-20"}));
}

TEST(Groups, HaveShortNamesOfTheirOwn) {
  const TempFolder folder;
  const std::string odd(120, 'x');
  for (const char* end : {"a", "b"}) {
    write_cell(folder / end, {.more = fmt::format("source = \"{}{}\"\n", odd, end)}, {sample_result("fedavg", 70)});
  }
  const Study study = study_of(folder);
  ASSERT_EQ(study.groups.size(), 2U);
  EXPECT_EQ(study.groups[1].name, study.groups[0].name + "-2");
  for (const ResultGroup& group : study.groups) {
    EXPECT_LT(group.name.size(), 90U);
    EXPECT_TRUE(is_file_name(group.name)) << group.name;
  }
}

TEST(Groups, AreRankedByFewLabelsWhereNothingElseTellsConceptsApart) {
  const TempFolder folder;
  ResultRecord best = sample_result("feroma-auto", 69);
  best.accuracy_few_label = 95;
  ResultRecord other = sample_result("fedavg", 70);
  other.accuracy_few_label.reset();
  other.accuracy_known = 71;
  write_cell(folder / "a", {.shift = "concept_label"}, {other, best});
  const Study study = study_of(folder);
  EXPECT_EQ(study.groups.at(0).rows[0].label, "feroma-auto");
  EXPECT_EQ(study.groups.at(0).rows[0].rank, 1U);
}

TEST(Groups, OfTheCostTableAreTheRunsThatItMeasures) {
  const TempFolder folder;
  write_cell(folder / "tinted", {.level = "medium"}, {sample_result("fedavg", 70), sample_result("feroma-auto", 90)});
  write_cell(folder / "grey", {.shift = "label_prior"}, {sample_result("fedavg", 70)});
  const Study study = study_of(folder, {.tables = {"comm_cost"}});
  EXPECT_EQ(study.groups.size(), 1U);
  EXPECT_EQ(study.results.size(), 2U);
}

TEST(Groups, WithATableAreThoseOfItsExperiments) {
  const TempFolder folder;
  write_study(folder);
  write_cell(folder / "px100", {.clients = 100}, {sample_result("fedavg", 1)});
  EXPECT_EQ(study_of(folder).groups.size(), 3U);
  const Study study = study_of(folder, {.tables = {"main_appe_mnist_px"}});
  EXPECT_EQ(study.groups.size(), 2U) << "none with 100 clients";
  EXPECT_EQ(study.results.size(), 18U);
}

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
  EXPECT_TRUE(holds(study.notes[0], "no tests: no two algorithms have 2 seeds in common")) << study.notes[0];
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

TEST(StudyText, AlignsGroupsAndShowsTests) {
  const TempFolder folder;
  write_study(folder);
  const std::string text = study_text(study_of(folder), /*colour=*/false);
  EXPECT_TRUE(holds(text, "algorithm    #  seeds    accuracy %")) << text;
  EXPECT_TRUE(holds(text, "feroma-auto  1      3  91.00 ± 1.00")) << text;
  EXPECT_TRUE(holds(text, "feroma-auto leads by")) << text;
  EXPECT_FALSE(holds(text, "\033["));
}

TEST(StudyText, SaysThatNothingIsFinished) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {sample_result("fedavg", 70)});
  std::filesystem::remove(folder / "a/summary.json");
  EXPECT_TRUE(holds(study_text(study_of(folder), false), "no finished run"));
}

TEST(StudyText, APaperTableHasThreeLinesARowAndColoursDifferences) {
  const TempFolder folder;
  write_study(folder);
  const Study study = study_of(folder, {.tables = {"main_appe_mnist_px"}});
  const std::string plain = study_text(study, false);
  EXPECT_TRUE(holds(plain, "FedAvg              fedavg")) << plain;
  EXPECT_TRUE(holds(plain, "66.55 ± 1.23")) << plain;
  EXPECT_TRUE(holds(plain, "+5.45")) << plain;
  EXPECT_TRUE(holds(plain, "missing")) << plain;
  EXPECT_TRUE(holds(plain, "6 of 99 figures are there")) << plain;
  const std::string coloured = study_text(study, true);
  EXPECT_TRUE(holds(coloured, "\033[36m+5.45\033[0m")) << coloured;
  EXPECT_TRUE(holds(coloured, "\033[36m+2.10\033[0m")) << coloured;
}

TEST(StudyText, AMeanThatWasTakenAnewShowsWhatIsPrintedToo) {
  const TempFolder folder;
  write_study(folder);
  const std::string text = study_text(study_of(folder, {.tables = {"main_table_2"}}), false);
  EXPECT_EQ(count(text, "as printed"), 1U) << text;
  EXPECT_TRUE(holds(text, "1 of 4 cells")) << text;
}

TEST(Tone, IsByWhatIsBetterInTheColumn) {
  PaperValue value;
  value.published = 5;
  value.ours = 6;
  EXPECT_EQ(detail::tone_of(value, {"accuracy", true, 2}), detail::Tone::good);
  EXPECT_EQ(detail::tone_of(value, {"seconds", false, 2}), detail::Tone::bad);
  value.ours = 5.004;
  EXPECT_EQ(detail::tone_of(value, {"accuracy", true, 2}), detail::Tone::plain) << "it vanishes in print";
  value.ours.reset();
  EXPECT_EQ(detail::tone_of(value, {"accuracy", true, 2}), detail::Tone::plain);
}

TEST(StudyCsv, HasOneFigurePerLine) {
  const TempFolder folder;
  write_study(folder);
  const std::string csv = study_csv(study_of(folder, {.tables = {"main_appe_mnist_px"}}));
  EXPECT_TRUE(holds(csv,
                    "main_appe_mnist_px,MNIST,P(X),low,5/20,,FedAvg,,accuracy,fedavg,3,72,2,66.55,1.23,,5.45,"
                    "mnist,low,5/20\n"))
      << csv;
  EXPECT_TRUE(holds(csv, "main_appe_mnist_px,MNIST,P(X),high,20/20,,CFL,,accuracy,,0,,,70.65,4.2,,,,,\n")) << csv;
  EXPECT_TRUE(holds(csv,
                    "results,mnist,covariate,low,5/20,20,,generator=feroma,accuracy,fedavg,3,72,2,,,,,"
                    "mnist,low,5/20\n"))
      << csv;
  EXPECT_TRUE(holds(csv, ",bytes_up_per_client_round,fedavg,3,248504,")) << "bytes, not the kB that people see";
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(detail::split_csv_line(line, "line").size(), 20U) << line;
  }
}

TEST(StudyCsv, SaysWhatOursIsWhereThePublishedFigureIsAnother) {
  const TempFolder folder;
  const std::string keys = "mapping.metric = \"cosine\"\nassign.metric = \"cosine\"\n";
  write_cell(folder / "mnist", {.level = "medium", .keys = keys}, {sample_result("feroma-cc", 90)});
  write_cell(folder / "fmnist", {.level = "medium", .dataset = "fmnist", .keys = keys},
             {sample_result("feroma-cc", 73)});
  const std::string csv = study_csv(study_of(folder, {.tables = {"dft_px"}}));
  const std::string heading = "dft_px,FMNIST,P(X),low,10/20,,Feroma,C.C.,accuracy,feroma-cc";  // as printed
  EXPECT_TRUE(line_with(csv, heading + ",1,73,").ends_with(",fmnist,medium,5/20")) << csv;
  EXPECT_TRUE(line_with(csv, heading + " [mnist],1,90,").ends_with(",,mnist,medium,5/20")) << csv;
}

TEST(StudyCsv, AMeanOverLevelsAndDriftsSaysSo) {
  const TempFolder folder;
  for (const char* shift : {"covariate", "label_prior", "concept_feature", "concept_label"}) {
    for (const char* level : {"low", "medium", "high"}) {
      for (const int drifts : {5, 10, 20}) {
        write_cell(folder / fmt::format("{}-{}-{}", shift, level, drifts),
                   {.shift = shift, .level = level, .drifts = drifts}, {sample_result("fedavg", 70)});
      }
    }
  }
  const std::string csv = study_csv(study_of(folder, {.tables = {"main_table_1"}}));
  EXPECT_TRUE(line_with(csv, "main_table_1,MNIST,all,all,all,,FedAvg").ends_with(",mnist,all,all")) << csv;
}

TEST(StudyLatex, IsADocumentOfBooktabsTables) {
  const TempFolder folder;
  write_study(folder);
  const std::string latex =
      study_latex(study_of(folder, {.tables = {"main_appe_mnist_px", "main_appe_mnist_pyx", "comm_cost"}}));
  EXPECT_EQ(count(latex, "\\begin{"), count(latex, "\\end{"));
  EXPECT_EQ(count(latex, "\\begin{tabular}"), 5U) << "three tables and two settings";
  EXPECT_EQ(count(latex, "\\toprule"), 5U);
  EXPECT_TRUE(holds(latex, "\\usepackage{booktabs}"));
  // Of every row the same number of cells.
  std::istringstream lines(latex);
  std::size_t columns = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find("\\begin{tabular}{");
    if (at != std::string::npos) {
      columns = line.find('}', at + 16) - at - 16;
    } else if (line.ends_with("\\\\")) {
      EXPECT_EQ(count(line, " & ") + 1, columns) << line;
    }
  }
  EXPECT_TRUE(holds(latex, "P(Y\\textbar{}X)"));
  EXPECT_TRUE(holds(latex, "\\label{tab:comm_cost}"));
  EXPECT_FALSE(holds(latex, "as printed"));
  EXPECT_FALSE(holds(latex, "\\clearpage"));
}

TEST(StudyLatex, AMeanThatWasTakenAnewShowsWhatIsPrintedToo) {
  const TempFolder folder;
  write_study(folder);
  const std::string latex = study_latex(study_of(folder, {.tables = {"main_table_2"}}));
  EXPECT_EQ(count(latex, " & as printed & 90.60"), 1U) << latex;
}

TEST(StudyLatex, ManySettingsDoNotWaitForAPageAllAtOnce) {
  const TempFolder folder;
  for (int drifts = 1; drifts <= 21; ++drifts) {
    write_cell(folder / fmt::format("{}", drifts), {.drifts = drifts}, {sample_result("fedavg", 70)});
  }
  const std::string latex = study_latex(study_of(folder));
  EXPECT_EQ(count(latex, "\\begin{table}"), 21U);
  EXPECT_EQ(count(latex, "\\clearpage"), 2U) << "after 10 and 20";
}

TEST(StudyJson, HoldsGroupsTablesAndComparison) {
  const TempFolder folder;
  write_study(folder);
  const auto json = nlohmann::json::parse(study_json(study_of(folder, {.tables = {"main_appe_mnist_px"}})));
  EXPECT_EQ(json["groups"][1]["results"][0]["accuracy"]["mean"], 91);
  EXPECT_EQ(json["groups"][1]["results"][0]["bytes_up_per_client_round"]["mean"], 248504);
  EXPECT_EQ(json["groups"][1]["results"][2]["accuracy_few_label"], nullptr);
  EXPECT_EQ(json["tables"][0]["rows"][0]["values"][0]["published_mean"], 66.55);
  EXPECT_EQ(json["tables"][0]["rows"][1]["label"], nullptr);
  EXPECT_NEAR(json["comparison"]["mean_ranks"]["ifca"].get<double>(), 3, 1e-12);
  EXPECT_EQ(json["comparison"]["by_seed"], false);
  EXPECT_EQ(json["comparison"]["blocks"], 2);
  EXPECT_EQ(json["comparison"]["pairs"][0]["n"], 6);
}

TEST(Study, AgainstThePaperTakesTheTablesThatHaveAFigureOfOurs) {
  const TempFolder folder;
  write_study(folder);
  std::vector<std::string> names;
  for (const PaperTable& table : study_of(folder, {.against_paper = true}).tables) {
    names.push_back(table.name);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"main_table_1", "main_table_2", "dp_px_py", "main_appe_mnist_px", "cola_px"}));
  const TempFolder other;
  write_cell(other / "a", {.dataset = "emnist"}, {sample_result("fedavg", 70)});
  const Study nothing = study_of(other, {.against_paper = true});
  EXPECT_TRUE(nothing.tables.empty());
  EXPECT_TRUE(holds(nothing.notes.back(), "nothing to put beside it"));
}

}  // namespace
}  // namespace feroma
