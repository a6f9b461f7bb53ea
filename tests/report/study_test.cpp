#include "feroma/report/study.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "feroma/core/files.h"
#include "feroma/report/figures.h"
#include "src/report/cell_text.h"
#include "src/report/csv.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/count.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::count;
using test::holds;
using test::line_with;
using test::sample_result;
using test::study_of;
using test::TempFolder;
using test::write_cell;
using test::write_study;

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
  const std::vector<test::CellRun> cells{{.level = "high", .drifts = 5},
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

TEST(Groups, MeansThatRoundingAlonePartsShareARank) {
  // 70.1 + 70.2 + 70.3 in another order: the means are 70.2 and 70.19999999999999.
  const TempFolder folder;
  const std::vector<double> fedavg{70.1, 70.2, 70.3};
  const std::vector<double> ifca{70.1, 70.3, 70.2};
  for (std::size_t i = 0; i < fedavg.size(); ++i) {
    write_cell(folder / fmt::format("{}", i), {.seed = 42 + static_cast<int>(i)},
               {sample_result("fedavg", fedavg[i]), sample_result("ifca", ifca[i])});
  }
  const Study study = study_of(folder);
  ASSERT_EQ(study.groups.size(), 1U);
  ASSERT_EQ(study.groups[0].rows.size(), 2U);
  EXPECT_EQ(study.groups[0].rows[0].rank, 1U);
  EXPECT_EQ(study.groups[0].rows[1].rank, 1U);
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

TEST(StudyText, AlignsGroupsAndShowsTests) {
  const TempFolder folder;
  write_study(folder);
  const std::string text = study_text(study_of(folder), /*colour=*/false);
  EXPECT_TRUE(holds(text, "algorithm    #  seeds    accuracy %")) << text;
  EXPECT_TRUE(holds(text, "feroma-auto  1      3  91.00 ± 1.00")) << text;
  EXPECT_TRUE(holds(text, "feroma-auto leads by")) << text;
  EXPECT_FALSE(holds(text, "\033["));
}

TEST(StudyText, KnownIsShownWhereItHasAMeaning) {
  const TempFolder folder;
  ResultRecord shared = sample_result("fedavg", 70);
  shared.accuracy_known = 70.00000000000001;  // one model serves everybody
  write_cell(folder / "a", {}, {shared});
  const auto tables = [&folder] {
    const Study study = study_of(folder);
    return study_text(study, false) + study_html(study, {}, {}, "test") + study_latex(study);
  };
  EXPECT_FALSE(holds(tables(), "known %") || holds(tables(), "known \\%")) << tables();
  EXPECT_TRUE(holds(study_csv(study_of(folder)), ",accuracy_known,fedavg,1,70")) << "programs are told";
  ResultRecord own = sample_result("feroma-auto", 80);
  own.accuracy_known = 81;
  write_cell(folder / "a", {}, {shared, own});
  EXPECT_TRUE(holds(tables(), "known %") && holds(tables(), "known \\%")) << tables();
  const std::string text = study_text(study_of(folder), false);
  EXPECT_TRUE(holds(text, "81.00")) << text;
  EXPECT_EQ(count(text, "70.00"), 1U) << text;
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
                    "mnist,low,5/20,1,1\n"))
      << csv;
  EXPECT_TRUE(holds(csv, "main_appe_mnist_px,MNIST,P(X),high,20/20,,CFL,,accuracy,,0,,,70.65,4.2,,,,,,0,1\n")) << csv;
  EXPECT_TRUE(holds(csv,
                    "results,mnist,covariate,low,5/20,20,,generator=feroma,accuracy,fedavg,3,72,2,,,,,"
                    "mnist,low,5/20,,\n"))
      << csv;
  EXPECT_TRUE(holds(csv, ",bytes_up_per_client_round,fedavg,3,248504,")) << "bytes, not the kB that people see";
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(detail::split_csv_line(line, "line").size(), 22U) << line;
  }
}

TEST(StudyCsv, HasRanksAndTests) {
  const TempFolder folder;
  write_study(folder);
  const std::string csv = study_csv(study_of(folder));
  const auto comparison = [](const std::string& variant, const std::string& metric, const std::string& label,
                             const std::string& numbers) {
    return fmt::format("\ncomparison,,,,,,,{},{},{},{},,,,,,,,,,\n", variant, metric, label, numbers);
  };
  EXPECT_TRUE(holds(csv, comparison("", "friedman_chi_square", "", "2,4")));
  EXPECT_TRUE(holds(csv, comparison("", "mean_rank", "feroma-auto", "2,1")));
  EXPECT_TRUE(holds(csv, comparison("versus feroma-auto", "mean_difference", "fedavg", "6,19")));
  EXPECT_TRUE(holds(csv, comparison("versus feroma-auto", "wilcoxon_p", "fedavg", "6,0.03125")));
  EXPECT_TRUE(holds(csv, comparison("versus feroma-auto", "wilcoxon_p_holm", "fedavg", "6,0.0625")));
  EXPECT_FALSE(holds(csv, ",t_p,ifca,")) << "differences that do not vary have no t";
}

TEST(StudyCsv, SaysHowMuchOfAMeanIsThere) {
  const TempFolder folder;
  write_study(folder);
  const std::string csv = study_csv(study_of(folder, {.tables = {"main_table_2"}}));
  EXPECT_TRUE(line_with(csv, "main_table_2,MNIST,all,low,5/20,,FedAvg,,accuracy,fedavg,0,,").ends_with(",1,4")) << csv;
}

TEST(StudyCsv, SaysWhatOursIsWhereThePublishedFigureIsAnother) {
  const TempFolder folder;
  const std::string keys = "mapping.metric = \"cosine\"\nassign.metric = \"cosine\"\n";
  write_cell(folder / "mnist", {.level = "medium", .keys = keys}, {sample_result("feroma-cc", 90)});
  write_cell(folder / "fmnist", {.level = "medium", .dataset = "fmnist", .keys = keys},
             {sample_result("feroma-cc", 73)});
  const std::string csv = study_csv(study_of(folder, {.tables = {"dft_px"}}));
  const std::string heading = "dft_px,FMNIST,P(X),low,10/20,,Feroma,C.C.,accuracy,feroma-cc";  // as printed
  EXPECT_TRUE(line_with(csv, heading + ",1,73,").ends_with(",fmnist,medium,5/20,1,1")) << csv;
  EXPECT_TRUE(line_with(csv, heading + " [mnist],1,90,").ends_with(",,mnist,medium,5/20,1,1")) << csv;
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
  EXPECT_TRUE(line_with(csv, "main_table_1,MNIST,all,all,all,,FedAvg").ends_with(",mnist,all,all,36,36")) << csv;
}

TEST(StudyLatex, IsADocumentOfBooktabsTables) {
  const TempFolder folder;
  write_study(folder);
  const std::string latex =
      study_latex(study_of(folder, {.tables = {"main_appe_mnist_px", "main_appe_mnist_pyx", "comm_cost"}}));
  EXPECT_EQ(count(latex, "\\begin{"), count(latex, "\\end{"));
  EXPECT_EQ(count(latex, "\\begin{tabular}"), 6U) << "three tables, two settings and the tests";
  EXPECT_EQ(count(latex, "\\toprule"), 6U);
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

TEST(StudyLatex, HasATableOfRanksAndTests) {
  const TempFolder folder;
  write_study(folder);
  const std::string latex = study_latex(study_of(folder));
  EXPECT_TRUE(holds(latex, "algorithm & mean rank & feroma-auto leads by & n & Wilcoxon p & after Holm & t test p"));
  EXPECT_TRUE(holds(latex, "feroma-auto & 1.00 & -- & -- & -- & -- & -- \\\\"));
  EXPECT_TRUE(holds(latex, "ifca & 3.00 & +50.00 & 6 & 0.0312 & 0.0625 & -- \\\\"));
  EXPECT_TRUE(holds(latex, "\\label{tab:comparison}"));
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
  EXPECT_EQ(json["tables"][0]["rows"][0]["values"][0]["cells_found"], 1);
  EXPECT_EQ(json["tables"][0]["rows"][0]["values"][1]["cells_needed"], 1);
  EXPECT_EQ(json["tables"][0]["rows"][0]["values"][0]["not_applicable"], nullptr);
  EXPECT_NEAR(json["comparison"]["mean_ranks"]["ifca"].get<double>(), 3, 1e-12);
  EXPECT_EQ(json["comparison"]["by_seed"], false);
  EXPECT_EQ(json["comparison"]["blocks"], 2);
  EXPECT_EQ(json["comparison"]["pairs"][0]["n"], 6);
}

TEST(StudyJson, SaysWhyAFigureIsNotApplicable) {
  const TempFolder folder;
  write_cell(folder / "a", {}, {not_applicable("atp", "atp", "labels are several"), sample_result("fedavg", 70)});
  const Study study = study_of(folder, {.tables = {"main_appe_mnist_px"}});
  const auto json = nlohmann::json::parse(study_json(study));
  std::size_t seen = 0;
  for (const auto& row : json["tables"][0]["rows"]) {
    if (row["row"] == "ATP") {
      EXPECT_EQ(row["values"][0]["not_applicable"], "labels are several");
      EXPECT_EQ(row["values"][0]["cells_found"], 0);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 1U);
  EXPECT_EQ(json["groups"][0]["results"][1]["not_applicable"], "labels are several");
  EXPECT_TRUE(holds(study_text(study, false), "not applicable"));
  EXPECT_TRUE(holds(study_latex(study), "atp & 1 & N/A"));
  const std::string page = study_html(study, published_figures(), {}, "page");
  EXPECT_TRUE(holds(page, "<td class=\"missing\" title=\"labels are several\"><b class=\"ours\">not applicable</b>"));
}

TEST(StudyHtml, FiguresStandBeforeTheSettingsWhichHaveTheColumnsThatAreFilled) {
  const TempFolder folder;
  ResultRecord result = sample_result("fedavg", 70);
  result.accuracy_few_label.reset();
  write_cell(folder / "a", {}, {result, sample_result("feroma-auto", 80)});
  const auto page_of = [&folder] { return study_html(study_of(folder), published_figures(), {}, "page"); };
  const std::string page = page_of();
  EXPECT_LT(page.find("<h2>Figures</h2>"), page.find("Mean over seeds ± standard deviation."));
  EXPECT_TRUE(holds(page, ">few labels %</th>")) << "one of them has it";
  EXPECT_FALSE(holds(page, ">epsilon</th>"));
  EXPECT_FALSE(holds(study_latex(study_of(folder)), "epsilon"));
  result.epsilon = 3;
  write_cell(folder / "a", {}, {result});
  EXPECT_TRUE(holds(page_of(), ">epsilon</th>"));
}

TEST(Study, AgainstThePaperTakesTheTablesThatHaveAFigureOfOurs) {
  const TempFolder folder;
  write_study(folder);
  std::vector<std::string> names;
  for (const PaperTable& table : study_of(folder, {.against_paper = true}).tables) {
    names.push_back(table.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"main_table_1", "main_table_2", "dp_px_py", "main_appe_mnist_px",
                                             "cola_px", "comm_cost"}));
  const TempFolder aside;  // beside tables of Fashion-MNIST, and not of their experiments
  write_cell(aside / "a", {.keys = "mapping.metric = \"cosine\"\nassign.metric = \"cosine\"\n"},
             {sample_result("feroma-cc", 90)});
  for (const PaperTable& table : study_of(aside, {.against_paper = true}).tables) {
    EXPECT_FALSE(table.name.starts_with("dft_") || table.name == "3x1_table") << table.name;
  }
  const TempFolder other;
  write_cell(other / "a", {.dataset = "emnist"}, {sample_result("fedavg", 70)});
  const Study nothing = study_of(other, {.against_paper = true});
  EXPECT_TRUE(nothing.tables.empty());
  EXPECT_TRUE(holds(nothing.notes.back(), "nothing to put beside it"));
}

}  // namespace
}  // namespace feroma
