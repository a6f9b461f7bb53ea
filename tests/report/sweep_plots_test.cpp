#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "feroma/report/figures.h"
#include "src/report/sweep_chart.h"
#include "tests/core/expect_error.h"
#include "tests/report/count.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::count;
using test::holds;
using test::sample_result;
using test::study_of;
using test::TempFolder;
using test::write_cell;

TEST(SweepPlots, RunOverClientsAndBudgets) {
  const TempFolder folder;
  for (const int clients : {10, 20}) {
    for (const int seed : {42, 43}) {
      write_cell(folder / fmt::format("c{}-{}", clients, seed),
                 {.level = "medium", .drifts = 10, .seed = seed, .clients = clients},
                 {sample_result("fedavg", 60 + seed - 42), sample_result("feroma-auto", 80)});
    }
  }
  for (const char* epsilon : {"1.0", "5.0"}) {
    write_cell(folder / fmt::format("e{}", epsilon),
               {.level = "medium",
                .drifts = 10,
                .tables = fmt::format("[privacy]\nmode = \"gaussian\"\nepsilon_total = {}\n", epsilon)},
               {sample_result("feroma-auto", 75)});
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 3U);
  EXPECT_EQ(plots[0].title, "Accuracy and the number of clients: mnist covariate medium");
  EXPECT_EQ(plots[0].places, (std::vector<std::string>{"10", "20"}));
  ASSERT_EQ(plots[0].series.size(), 4U) << "two of ours, two published";
  EXPECT_EQ(plots[0].series[0].label, "fedavg");
  EXPECT_DOUBLE_EQ(plots[0].series[0].values[0]->mean, 60.5);
  EXPECT_EQ(plots[0].series[3].label, "Feroma, published");
  EXPECT_EQ(plots[0].series[3].colour, plots[0].series[1].colour);
  EXPECT_DOUBLE_EQ(plots[0].series[3].values[0]->mean, 87.51);
  EXPECT_EQ(plots[1].y_title, "seconds");
  EXPECT_EQ(plots[2].places, (std::vector<std::string>{"1", "5", "no privacy"}));
  const std::string svg = detail::plot_svg(plots[0]);
  EXPECT_EQ(count(svg, "class=\"curve published "), 4U) << "two curves and their keys";
  EXPECT_TRUE(holds(svg, "class=\"error c0\""));
  EXPECT_TRUE(holds(detail::plot_table_html(plots[0]), "<td>60.50 ± 0.71</td>"));
}

TEST(SweepPlots, LevelsComeInTheOrderOfPeople) {
  const TempFolder folder;
  for (const char* level : {"high", "low", "medium"}) {
    for (const int labels : {5, 20}) {
      write_cell(
          folder / fmt::format("{}{}", level, labels),
          {.shift = "concept_label", .level = level, .drifts = 10, .more = fmt::format("few_labels = {}\n", labels)},
          {sample_result("feroma-auto", 80)});
    }
  }
  std::vector<std::string> titles;
  for (const detail::Plot& plot : detail::sweep_plots(study_of(folder), published_figures())) {
    titles.push_back(plot.title);
  }
  const std::string start = "Accuracy and the number of labels: mnist concept_label ";
  EXPECT_EQ(titles, (std::vector<std::string>{start + "low", start + "medium", start + "high"}));
}

/// Cells as the sweeps over clients leave them: 20 clients of the main tables, the others with the paper's amount of
/// data.
void write_clients(const TempFolder& folder) {
  for (const int clients : {10, 20, 50, 100}) {
    write_cell(folder / fmt::format("c{}", clients),
               {.level = "medium",
                .drifts = 10,
                .clients = clients,
                .more = fmt::format("scale_rule = \"{}\"\n", clients == 20 ? "auto" : "paper")},
               {sample_result("feroma-auto", 80 + clients / 10.0)});
  }
}

TEST(SweepPlots, TwentyClientsOfAnyScaleRuleStandAmongTheOthers) {
  const TempFolder folder;
  write_clients(folder);
  // A method of the main tables that no other number of clients was run with is no curve.
  write_cell(folder / "other", {.level = "medium", .drifts = 10, .more = "scale_rule = \"auto\"\n"},
             {sample_result("ifca", 60)});
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 2U) << "accuracy and time, of one family";
  for (const detail::Plot& plot : plots) {
    EXPECT_EQ(plot.places, (std::vector<std::string>{"10", "20", "50", "100"})) << plot.title;
    ASSERT_EQ(plot.series.size(), 3U) << "ours, and two published";
    for (const detail::Plot::Series& series : plot.series) {
      for (const std::optional<MeanDeviation>& value : series.values) {
        EXPECT_TRUE(value.has_value()) << series.label << ": all four points";
      }
    }
  }
  EXPECT_DOUBLE_EQ(plots[0].series[0].values[1]->mean, 82);
  EXPECT_EQ(plots[0].series[2].label, "Feroma, published");
  EXPECT_DOUBLE_EQ(plots[0].series[2].values[1]->mean, 86.45);
  EXPECT_DOUBLE_EQ(plots[0].series[2].values[3]->mean, 83.09);
}

TEST(SweepPlots, MoreThanTwentyClientsAreKeptApartByScaleRule) {
  const TempFolder folder;
  write_clients(folder);
  for (const char* rule : {"auto", "none"}) {
    write_cell(folder / rule,
               {.level = "medium", .drifts = 10, .clients = 100, .more = fmt::format("scale_rule = \"{}\"\n", rule)},
               {sample_result("feroma-auto", 50)});
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 4U) << "accuracy and time by two rules; of rule none there is one point";
  EXPECT_EQ(plots[0].title, "Accuracy and the number of clients: mnist covariate medium, scale_rule auto");
  EXPECT_EQ(plots[0].places, (std::vector<std::string>{"10", "20", "100"}));
  EXPECT_DOUBLE_EQ(plots[0].series[0].values[2]->mean, 50);
  ASSERT_EQ(plots[0].series.size(), 3U);
  EXPECT_TRUE(plots[0].series[2].values[0]) << "ten clients have the paper's data by either rule";
  EXPECT_FALSE(plots[0].series[2].values[2]) << "a hundred do not";
  EXPECT_EQ(plots[1].title, "Accuracy and the number of clients: mnist covariate medium, scale_rule paper");
  EXPECT_DOUBLE_EQ(plots[1].series[0].values[3]->mean, 90);
}

TEST(SweepPlots, TheSameSeedByTwoRulesCountsOnce) {
  const TempFolder folder;
  write_clients(folder);
  write_cell(folder / "again", {.level = "medium", .drifts = 10, .more = "scale_rule = \"paper\"\n"},
             {sample_result("feroma-auto", 82)});
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(plots[0].series[0].values[1]->count, 1U);
}

TEST(SweepPlots, TitlesSayWhatFamiliesDifferIn) {
  const TempFolder folder;
  for (const int drifts : {5, 10}) {
    for (const int clients : {10, 20}) {
      write_cell(folder / fmt::format("{}-{}", drifts, clients),
                 {.level = "medium", .drifts = drifts, .clients = clients}, {sample_result("feroma-auto", 80)});
    }
  }
  const std::vector<Figure> figures = study_figures(study_of(folder), published_figures());
  std::set<std::string> titles;
  for (const Figure& figure : figures) {
    EXPECT_TRUE(titles.insert(figure.title).second) << figure.title;
  }
  EXPECT_TRUE(titles.contains("Accuracy and the number of clients: mnist covariate medium, drifts 5"));
  EXPECT_TRUE(titles.contains("Time and the number of clients: mnist covariate medium, drifts 10"));
}

TEST(SweepPlots, FedAvgBesideThePapersIsItsBestRound) {
  const TempFolder folder;
  ResultRecord result = sample_result("fedavg", 70);
  result.accuracy_best_round = 75;
  for (const int drifts : {5, 10}) {
    for (const int clients : {10, 20}) {
      write_cell(folder / fmt::format("{}-{}", drifts, clients),
                 {.level = "medium", .drifts = drifts, .clients = clients}, {result});
    }
  }
  const Study study = study_of(folder);
  const std::vector<detail::Plot> plots = detail::sweep_plots(study, published_figures());
  ASSERT_EQ(plots.size(), 4U);
  EXPECT_TRUE(holds(plots[1].title, "drifts 10"));
  EXPECT_DOUBLE_EQ(plots[1].series[0].values[0]->mean, 75) << "as in the tables";
  EXPECT_DOUBLE_EQ(plots[0].series[0].values[0]->mean, 70) << "the paper has nothing with 5 drifts";
  std::size_t said = 0;
  for (const Figure& figure : study_figures(study, published_figures())) {
    said += holds(figure.caption, "FedAvg is the model of the round with the best validation loss") ? 1U : 0U;
  }
  EXPECT_EQ(said, 1U) << "not of times, nor where no published point stands";
}

TEST(SweepPlots, WithoutPrivacyStandLabelsThatHaveABudget) {
  const TempFolder folder;
  write_cell(folder / "off", {.level = "medium", .drifts = 10},
             {sample_result("feroma-auto", 90), sample_result("feroma-paper", 85), sample_result("ifca", 60)});
  for (const auto& [mode, label] : {std::pair{"gaussian", "feroma-auto"}, std::pair{"paper", "feroma-paper"}}) {
    for (const char* epsilon : {"1.0", "5.0"}) {
      write_cell(folder / fmt::format("{}{}", mode, epsilon),
                 {.level = "medium",
                  .drifts = 10,
                  .tables = fmt::format("[privacy]\nmode = \"{}\"\nepsilon_total = {}\n", mode, epsilon)},
                 {sample_result(label, 75)});
    }
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 2U);
  ASSERT_EQ(plots[0].series.size(), 1U) << "mode gaussian";
  EXPECT_EQ(plots[0].series[0].label, "feroma-auto");
  EXPECT_DOUBLE_EQ(plots[0].series[0].values[2]->mean, 90) << "behind the budgets";
  ASSERT_EQ(plots[1].series.size(), 2U) << "mode paper, and what is published";
  EXPECT_EQ(plots[1].series[0].label, "feroma-paper");
}

TEST(SweepPlots, ThePapersCurveHasTheColourOfALine) {
  // Of two presets only one has a budget twice; the other comes first by name.
  const TempFolder folder;
  for (const char* epsilon : {"1.0", "5.0"}) {
    std::vector<ResultRecord> results{sample_result("feroma-paper", 75)};
    if (std::string(epsilon) == "1.0") {
      results.push_back(sample_result("feroma-auto", 80));
    }
    write_cell(folder / epsilon,
               {.level = "medium",
                .drifts = 10,
                .tables = fmt::format("[privacy]\nmode = \"paper\"\nepsilon_total = {}\n", epsilon)},
               results);
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 1U);
  ASSERT_EQ(plots[0].series.size(), 3U);
  EXPECT_EQ(plots[0].series[1].label, "feroma-paper");
  EXPECT_EQ(plots[0].series[2].label, "Feroma, published");
  EXPECT_EQ(plots[0].series[2].colour, plots[0].series[1].colour);
}

TEST(SweepPlots, BudgetsArePlottedByModeAndPublishedOnesBesideThePapers) {
  const TempFolder folder;
  for (const char* mode : {"gaussian", "paper"}) {
    for (const char* epsilon : {"1.0", "5.0"}) {
      write_cell(folder / fmt::format("{}{}", mode, epsilon),
                 {.level = "medium",
                  .drifts = 10,
                  .tables = fmt::format("[privacy]\nmode = \"{}\"\nepsilon_total = {}\n", mode, epsilon)},
                 {sample_result("feroma-auto", 75)});
    }
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 2U);
  EXPECT_EQ(plots[0].title, "Accuracy and the privacy budget, mode gaussian: mnist covariate medium");
  EXPECT_EQ(plots[0].series.size(), 1U) << "the paper's budgets are others";
  EXPECT_EQ(plots[1].title, "Accuracy and the privacy budget, mode paper: mnist covariate medium");
  EXPECT_EQ(plots[1].series.size(), 2U);
  EXPECT_TRUE(holds(plots[1].x_title, "no guarantee"));
}

TEST(SweepPlots, PublishedPointsStandBesideTheirOwnExperimentAlone) {
  const TempFolder folder;
  for (const int clients : {10, 20}) {
    write_cell(folder / fmt::format("c{}", clients), {.level = "medium", .drifts = 5, .clients = clients},
               {sample_result("feroma-auto", 80)});
  }
  for (const char* epsilon : {"1.0", "5.0"}) {
    const std::filesystem::path cell = folder / fmt::format("e{}", epsilon);
    write_cell(cell,
               {.level = "medium",
                .drifts = 10,
                .tables = fmt::format("[privacy]\nmode = \"paper\"\nepsilon_total = {}\n", epsilon)},
               {sample_result("feroma-auto", 75)});
    std::string config = read_text(cell / "config.toml");
    config.replace(config.find("rounds = 20"), 11, "rounds = 40");
    write_file_atomically(cell / "config.toml", config);
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 3U) << "accuracy and time over clients, accuracy over budgets";
  for (const detail::Plot& plot : plots) {
    EXPECT_EQ(plot.series.size(), 1U) << plot.title << ": the paper has 10 drifts and 20 rounds";
  }
}

TEST(SweepPlots, ClientsOnConceptShiftsHaveTheAssociationKnown) {
  const TempFolder folder;
  for (const int clients : {10, 20}) {
    write_cell(folder / fmt::format("{}", clients),
               {.shift = "concept_label", .level = "medium", .drifts = 10, .clients = clients},
               {sample_result("feroma-auto", 80)});
  }
  const detail::Plot plot = detail::sweep_plots(study_of(folder), published_figures()).front();
  EXPECT_DOUBLE_EQ(plot.series[0].values[0]->mean, 81) << "known, as published";
  EXPECT_EQ(plot.y_title, "accuracy, association known %");
}

TEST(SweepPlots, WhereAllFourShiftsAreThereTheirMeanIsDrawnToo) {
  const TempFolder folder;
  const auto write = [&folder](const std::string& shift, double accuracy) {
    for (const int clients : {10, 20}) {
      write_cell(folder / fmt::format("{}-{}", shift, clients),
                 {.shift = shift, .level = "medium", .drifts = 10, .clients = clients},
                 {sample_result("feroma-auto", accuracy)});
    }
  };
  write("covariate", 80);
  write("label_prior", 90);
  write("concept_label", 70);
  EXPECT_FALSE(holds(detail::sweep_plots(study_of(folder), published_figures()).front().title, "mean over"));
  write("concept_feature", 60);
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 10U) << "accuracy and time, four shifts and their mean";
  const detail::Plot& mean = plots[0];
  EXPECT_EQ(mean.title, "Accuracy and the number of clients: mnist medium, mean over the four shifts");
  EXPECT_EQ(mean.y_title, "accuracy, on P(Y|X) association known %");
  ASSERT_EQ(mean.series.size(), 3U);
  EXPECT_DOUBLE_EQ(mean.series[0].values[1]->mean, (80 + 90 + 71 + 60) / 4.0) << "known on P(Y|X)";
  EXPECT_EQ(mean.series[2].label, "Feroma, published");
  const auto all = std::find_if(published_figures().begin(), published_figures().end(), [](const PublishedFigure& one) {
    return one.table == "n_client_all" && one.method == "Feroma" && one.clients == "20" && one.metric == "accuracy";
  });
  EXPECT_NEAR(mean.series[2].values[1]->mean, all->mean, 0.02) << "the paper's own mean";
}

TEST(SweepPlots, LabelsHaveTheKnownAssociationAndThePapersPointsBesideThem) {
  const TempFolder folder;
  for (const int labels : {5, 20}) {
    write_cell(
        folder / fmt::format("{}", labels),
        {.shift = "concept_label", .level = "medium", .drifts = 10, .more = fmt::format("few_labels = {}\n", labels)},
        {sample_result("feroma-auto", 80)});
  }
  const std::vector<detail::Plot> plots = detail::sweep_plots(study_of(folder), published_figures());
  ASSERT_EQ(plots.size(), 1U);
  const detail::Plot& plot = plots[0];
  ASSERT_EQ(plot.series.size(), 4U);
  EXPECT_EQ(plot.series[0].label, "feroma-auto");
  EXPECT_DOUBLE_EQ(plot.series[0].values[0]->mean, 80.75);
  EXPECT_EQ(plot.series[1].label, "feroma-auto, association known");
  EXPECT_DOUBLE_EQ(plot.series[1].values[0]->mean, 81);
  EXPECT_EQ(plot.series[1].colour, plot.series[0].colour);
  EXPECT_EQ(plot.series[2].label, "Feroma, published");
  EXPECT_FALSE(plot.series[2].values[0]) << "the paper has 20 labels alone";
  EXPECT_DOUBLE_EQ(plot.series[2].values[1]->mean, 80.09);
  EXPECT_EQ(plot.series[3].label, "Feroma, published, association known");
  EXPECT_DOUBLE_EQ(plot.series[3].values[1]->mean, 88.87);
  EXPECT_EQ(count(detail::plot_svg(plot), "class=\"curve known "), 2U) << "the curve and its key";
}

}  // namespace
}  // namespace feroma
