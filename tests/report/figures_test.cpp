#include "feroma/report/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "feroma/core/files.h"
#include "src/report/axis.h"
#include "src/report/chart_style.h"
#include "src/report/mixing_chart.h"
#include "src/report/profile_map.h"
#include "src/report/rank_chart.h"
#include "src/report/sweep_chart.h"
#include "src/report/trajectory_chart.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using testing::holds;
using testing::runs_in;
using testing::sample_result;
using testing::TempFolder;
using testing::write_cell;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size())) {
    ++found;
  }
  return found;
}

Study study_of(const TempFolder& folder) { return make_study(runs_in(folder.path()), {}, published_figures()); }

/// A sample run with profiles: two numbers per client that tell its distribution.
RunData run_with_profiles(const TempFolder& folder) {
  const testing::SampleRun sample;
  testing::write_sample_run(folder / "run", sample);
  RunWriter writer(folder / "run", RunWriter::Mode::resume);
  for (int round = sample.warm_up + 1; round <= sample.rounds; ++round) {
    ProfileRecord record{"feroma-auto", round, static_cast<std::size_t>(sample.clients), {}};
    for (int k = 0; k < sample.clients; ++k) {
      record.values.push_back(testing::sample_distribution(sample, k, round));
      record.values.push_back(0.1 * k);
    }
    writer.profiles(record);
  }
  return load_run(folder / "run");
}

TEST(Axis, StepsAreOneTwoOrFive) {
  EXPECT_DOUBLE_EQ(detail::scale_for(12, 88).step, 20);
  EXPECT_DOUBLE_EQ(detail::scale_for(80, 91).step, 5);
  EXPECT_DOUBLE_EQ(detail::scale_for(0.1, 0.5).step, 0.1);
  const detail::Scale scale = detail::scale_for(50, 50);
  EXPECT_LT(scale.low, scale.high);
}

TEST(Axis, ALegendWraps) {
  const detail::Legend one = detail::legend_svg({{"fedavg", 0}}, 0, 0, 300);
  const detail::Legend many = detail::legend_svg(std::vector<detail::LegendItem>(12, {"an algorithm", 0}), 0, 0, 300);
  EXPECT_DOUBLE_EQ(one.height, 18);
  EXPECT_GT(many.height, 5 * 18);
}

TEST(ChartStyle, NeedsNoVariables) {
  const std::string style = detail::standalone_style();
  EXPECT_FALSE(holds(style, "var("));
  EXPECT_TRUE(holds(style, "svg .curve.c5 {"));
  EXPECT_EQ(count(style, "svg .curve.c0 {"), 2U) << "light and dark";
}

TEST(ChartStyle, AFileHasItsOwnSizeTitleAndNames) {
  const std::string file =
      detail::standalone_svg(detail::open_svg(560, 300, "a <chart>") + "<g/></svg>", "title & more");
  EXPECT_TRUE(file.starts_with("<?xml"));
  EXPECT_TRUE(
      holds(file, "xmlns=\"http://www.w3.org/2000/svg\" width=\"584\" height=\"324\" viewBox=\"-12 -12 584 324\""))
      << file.substr(0, 400);
  EXPECT_TRUE(holds(file, "<title>title &amp; more</title>"));
  EXPECT_TRUE(holds(file, "aria-label=\"a &lt;chart&gt;\""));
}

TEST(Trajectories, DrawEachClientBehindTheMeanAndMarkDrifts) {
  const TempFolder folder;
  testing::write_sample_run(folder / "run", {});
  const std::string svg = detail::trajectory_svg(load_run(folder / "run").algorithms[0], 1);
  EXPECT_EQ(count(svg, "<path class=\"client c1\""), 10U);
  EXPECT_EQ(count(svg, "<path class=\"curve c1\""), 1U);
  EXPECT_EQ(count(svg, "<path class=\"curve before c1\""), 1U);
  EXPECT_EQ(count(svg, "class=\"drift\""), 3U);  // before rounds 3, 5 and 7
  EXPECT_TRUE(holds(svg, ">accuracy %<"));
  EXPECT_TRUE(holds(svg, ">round<"));
}

TEST(Trajectories, OfManyClientsDrawSome) {
  const TempFolder folder;
  testing::write_sample_run(folder / "run", {.clients = 150, .rounds = 2, .algorithms = {"fedavg"}});
  const std::string svg = detail::trajectory_svg(load_run(folder / "run").algorithms[0], 0);
  EXPECT_LE(count(svg, "<path class=\"client"), detail::kTrajectories);
  EXPECT_GE(count(svg, "<path class=\"client"), detail::kTrajectories / 2);
}

TEST(PrincipalMap, FindsTheDirectionsOfMostVariance) {
  // Points along (3, 4) / 5 at -2, 0, 2 and a little across: the first coordinate is the place along it.
  const detail::ProfileMap map =
      detail::principal_map({-1.2 + 0.04, -1.6 - 0.03, -0.08, 0.06, 1.2 + 0.04, 1.6 - 0.03}, 2);
  ASSERT_EQ(map.points.size(), 3U);
  EXPECT_NEAR(map.points[0].x, -2, 1e-9);
  EXPECT_NEAR(map.points[1].x, 0, 1e-9);
  EXPECT_NEAR(map.points[2].x, 2, 1e-9);
  EXPECT_NEAR(std::abs(map.points[1].y), 0.1, 1e-9);
  EXPECT_NEAR(map.explained, 1, 1e-12);
}

TEST(PrincipalMap, AValueThatIsNotThereCountsAsTheMean) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const detail::ProfileMap map = detail::principal_map({-1, nan, 0, nan, 1, nan}, 2);
  EXPECT_NEAR(map.points[2].x, 1, 1e-12);
  EXPECT_NEAR(map.points[2].y, 0, 1e-12);
}

TEST(ProfileMap, IsColouredByTrueDistribution) {
  const TempFolder folder;
  const RunData run = run_with_profiles(folder);
  const auto map = detail::profile_map(run.algorithms[0]);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->points.size(), 50U);  // rounds 4 to 8, 10 clients
  EXPECT_FALSE(detail::profile_map(run.algorithms[1])) << "fedavg has no profiles";
  const std::string svg = detail::profile_map_svg(*map, "feroma-auto");
  EXPECT_EQ(count(svg, "<circle class=\"point\""), 10U);
  EXPECT_EQ(count(svg, "<circle class=\"point trail\""), 40U);
  const detail::ProfilePoint& last = map->points.front();
  EXPECT_EQ(last.round, 8);
  EXPECT_EQ(last.distribution, testing::sample_distribution({}, static_cast<int>(last.client), 8));
}

TEST(MixingCharts, HaveAPanelPerRoundAndPerClient) {
  const TempFolder folder;
  testing::write_sample_run(folder / "run", {});
  const RunData run = load_run(folder / "run");
  const std::string rounds = detail::mixing_rounds_svg(run.algorithms[0]);
  EXPECT_EQ(count(rounds, ">round "), 5U);  // 4 to 8
  EXPECT_TRUE(holds(rounds, ">round 8<"));
  const std::string clients = detail::mixing_clients_svg(run.algorithms[0]);
  EXPECT_EQ(count(clients, ">client "), 10U);
  EXPECT_TRUE(holds(clients, "columns: rounds 4 to 8"));
  EXPECT_EQ(detail::mixing_rounds_svg(run.algorithms[1]), "");
  EXPECT_EQ(detail::mixing_clients_svg(run.algorithms[1]), "");
}

/// A run of 100 clients that mixed in so many rounds, with the same weights in each.
RunData long_run(const TempFolder& folder, int rounds) {
  testing::write_sample_run(folder / "long", {.clients = 100, .rounds = 4, .algorithms = {"feroma-auto"}});
  RunData run = load_run(folder / "long");
  std::vector<MixingFile>& mixing = run.algorithms[0].mixing;
  mixing.resize(1);
  for (int round = 1; round <= rounds; ++round) {
    mixing.push_back(mixing[0]);
    mixing.back().round = round;
  }
  mixing.erase(mixing.begin());
  return run;
}

TEST(MixingCharts, OfManyClientsAndRoundsShowSome) {
  const TempFolder folder;
  const RunData run = long_run(folder, 200);
  const AlgorithmRun& algorithm = run.algorithms[0];
  const std::vector<std::size_t> shown = detail::mixing_client_rounds(algorithm);
  ASSERT_EQ(shown.size(), 20U) << "20 panels of 100 sources";
  EXPECT_EQ(shown.front(), 0U);
  EXPECT_EQ(shown.back(), 199U);
  for (std::size_t i = 1; i < shown.size(); ++i) {
    EXPECT_GE(shown[i] - shown[i - 1], 10U);
    EXPECT_LE(shown[i] - shown[i - 1], 11U);
  }
  const std::string clients = detail::mixing_clients_svg(algorithm);
  EXPECT_LE(count(clients, "<rect"), 40'000U + detail::kMixingClients);
  EXPECT_GT(count(clients, "<rect class=\"cell\""), 1000U);
  EXPECT_TRUE(holds(clients, "columns: 20 of the rounds 1 to 200"));
  EXPECT_LE(count(detail::mixing_rounds_svg(algorithm), "<rect class=\"cell\""), 40'000U);
  const std::vector<Figure> figures = run_figures(run);
  EXPECT_TRUE(std::any_of(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.caption.ends_with("Drawn are 20 of 200 rounds, evenly.");
  }));
}

TEST(MixingCharts, OfFewRoundsShowAll) {
  const TempFolder folder;
  const RunData run = long_run(folder, 20);
  EXPECT_EQ(detail::mixing_client_rounds(run.algorithms[0]).size(), 20U);
  EXPECT_TRUE(holds(detail::mixing_clients_svg(run.algorithms[0]), "columns: rounds 1 to 20"));
}

TEST(RankGroups, AreTheLongestStretchesWithinTheDifference) {
  using Groups = std::vector<std::pair<std::size_t, std::size_t>>;
  EXPECT_EQ(detail::rank_groups({1, 1.5, 2.2, 4}, 1), (Groups{{0, 1}, {1, 2}}));
  EXPECT_EQ(detail::rank_groups({1, 1.5, 1.9, 4}, 1), (Groups{{0, 2}}));
  EXPECT_EQ(detail::rank_groups({1, 2, 3}, 0.5), Groups{});
}

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

TEST(Figures, HaveNamesOfTheirOwnAndTextForThoseWhoDoNotSee) {
  const TempFolder folder;
  const RunData run = run_with_profiles(folder);
  write_cell(folder / "a", {.seed = 42}, {sample_result("fedavg", 70), sample_result("feroma-auto", 90)});
  write_cell(folder / "b", {.seed = 43}, {sample_result("fedavg", 72), sample_result("feroma-auto", 91)});
  std::vector<Figure> figures = study_figures(study_of(folder), published_figures());
  for (const Figure& figure : run_figures(run)) {
    figures.push_back(figure);
  }
  std::set<std::string> names;
  for (const Figure& figure : figures) {
    EXPECT_TRUE(names.insert(figure.name).second) << figure.name;
    EXPECT_TRUE(is_file_name(figure.name)) << figure.name;
    EXPECT_FALSE(figure.caption.empty());
    EXPECT_TRUE(holds(figure.svg, "role=\"img\" aria-label=\"")) << figure.name;
    EXPECT_EQ(count(figure.svg, "<svg"), 1U);
    EXPECT_GT(figure.height(), 50);
  }
  EXPECT_TRUE(names.contains("ranks"));
  EXPECT_TRUE(names.contains("cost-mnist-covariate-low-drifts-5-rounds-20-clients-20-generator-feroma"));
  EXPECT_TRUE(holds(figures[0].caption, "Mean ranks over")) << figures[0].caption;
  EXPECT_TRUE(names.contains("run-accuracy-feroma-auto"));
  EXPECT_TRUE(names.contains("run-profiles-feroma-auto"));
  EXPECT_TRUE(names.contains("run-mixing-rounds-feroma-auto"));
  EXPECT_TRUE(names.contains("run-mixing-clients-feroma-auto"));
}

TEST(StudyHtml, IsOnePageThatLoadsNothingFromElsewhere) {
  const TempFolder folder;
  const RunData run = run_with_profiles(folder);
  write_cell(folder / "a", {.seed = 42}, {sample_result("fedavg", 70), sample_result("feroma-auto", 90)});
  write_cell(folder / "b", {.seed = 43}, {sample_result("fedavg", 72), sample_result("feroma-auto", 91)});
  const Study study = make_study(runs_in(folder.path()), {.tables = {"main_appe_mnist_px"}}, published_figures());
  const std::string page = study_html(study, published_figures(), {run}, "a <b>");
  for (const char* part : {"http:", "https:", "src=", "<link", "@import", "url(", "xmlns", "{{"}) {
    EXPECT_EQ(count(page, part), 0U) << part;
  }
  EXPECT_TRUE(holds(page, "<title>a &lt;b&gt; · Feroma report</title>"));
  EXPECT_TRUE(holds(page, "<td class=\"gain\"><b class=\"ours\">71.00 ± 1.41</b><small>66.55 ± 1.23</small>"));
  EXPECT_TRUE(holds(page, "<td class=\"missing\"><b class=\"ours\">missing</b>"));
  EXPECT_EQ(count(page, "<figure data-mixing="), 1U);
  EXPECT_EQ(count(page, "<section>") + count(page, "<section id"), count(page, "</section>"));
}

TEST(StudyHtml, SaysHowManySettingsAreDrawn) {
  const TempFolder folder;
  for (int drifts = 1; drifts <= 7; ++drifts) {
    write_cell(folder / fmt::format("{}", drifts), {.drifts = drifts}, {sample_result("fedavg", 70)});
  }
  testing::write_sample_run(folder / "sample", {});
  const Study study = study_of(folder);
  const std::string page = study_html(study, published_figures(), drawn_runs(study, 1), "page");
  EXPECT_TRUE(holds(page, "Drawn are 1 of 8 settings; --runs draws more."));
  EXPECT_TRUE(holds(page, "Drawn are the costs of 6 of 8 settings."));
  EXPECT_EQ(count(page, "<h2>fmnist, covariate, high, drifts 10, rounds 8, clients 10"), 2U)
      << "Fashion-MNIST comes first; its results and its run are headed by the setting";
  const std::string whole = study_html(study, published_figures(), std::vector<RunData>(8), "page");
  EXPECT_FALSE(holds(whole, "Drawn are 8"));
}

TEST(DrawnRuns, AreTheFirstOfEachSetting) {
  const TempFolder folder;
  testing::write_sample_run(folder / "a", {});
  testing::write_sample_run(folder / "b", {.rounds = 6});
  const Study study = study_of(folder);
  EXPECT_EQ(drawn_runs(study, 4).size(), 2U);
  EXPECT_EQ(drawn_runs(study, 1).size(), 1U);
  EXPECT_EQ(drawn_runs(study, 0).size(), 0U);
}

TEST(DrawnRuns, JoinTheCellsOfASettingThoseThatMixFirst) {
  const TempFolder folder;
  testing::write_sample_run(folder / "0a", {.algorithms = {"fedavg"}});
  testing::write_sample_run(folder / "f1", {.algorithms = {"feroma-auto"}});
  const std::vector<RunData> runs = drawn_runs(study_of(folder), 4);
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].algorithms.size(), 2U);
  EXPECT_EQ(runs[0].name, "fmnist-covariate-high") << "the setting, not a folder";
  EXPECT_EQ(runs[0].title, "fmnist, covariate, high, drifts 10, rounds 8, clients 10");
  EXPECT_EQ(runs[0].algorithms[0].label, "feroma-auto");
  const Figure together = run_figures(runs[0]).front();
  EXPECT_EQ(together.name, "fmnist-covariate-high-accuracy");
  EXPECT_EQ(count(together.svg, "<path class=\"curve"), 4U) << "two, and their keys";
}

TEST(DrawnRuns, AreCalledByTheNamesThatTellThemApart) {
  const TempFolder folder;
  (void)run_with_profiles(folder);  // in "run"
  testing::write_sample_run(folder / "other", {});
  for (const auto& [name, reset] : {std::pair{"run", "epoch"}, std::pair{"other", "round"}}) {
    const std::filesystem::path config = folder / fmt::format("{}/config.toml", name);
    write_file_atomically(config, read_text(config) + fmt::format("[[algorithm]]\nname = \"feroma\"\nlabel = "
                                                                  "\"feroma-auto\"\nmomentum_reset = \"{}\"\n",
                                                                  reset));
  }
  const std::vector<RunData> runs = drawn_runs(study_of(folder), 4);
  ASSERT_EQ(runs.size(), 1U);
  std::vector<std::string> labels;
  for (const AlgorithmRun& algorithm : runs[0].algorithms) {
    labels.push_back(algorithm.label);
  }
  std::sort(labels.begin(), labels.end());
  EXPECT_EQ(labels, (std::vector<std::string>{"fedavg", "feroma-auto (momentum_reset=epoch)",
                                              "feroma-auto (momentum_reset=round)"}));
  const std::vector<Figure> figures = run_figures(runs[0]);
  EXPECT_TRUE(std::any_of(figures.begin(), figures.end(), [](const Figure& figure) {
    return figure.title == "Profiles of feroma-auto (momentum_reset=epoch)";
  })) << "its files go by the bare label";
}

TEST(DrawnRuns, DamageIsAnErrorOrALineToKeepGoingWith) {
  const TempFolder folder;
  testing::write_sample_run(folder / "a", {});
  testing::write_sample_run(folder / "b", {.rounds = 6});
  testing::write_sample_run(folder / "c", {.rounds = 7});
  const Study study = study_of(folder);
  std::filesystem::remove(folder / "a/events.jsonl");
  write_file_atomically(folder / "b/events.jsonl", std::string_view("no event\n"));
  EXPECT_THROW((void)drawn_runs(study, 4), Error);
  std::vector<std::string> damaged;
  EXPECT_EQ(drawn_runs(study, 4, &damaged).size(), 1U);
  ASSERT_EQ(damaged.size(), 2U);
  for (const std::string& line : damaged) {
    EXPECT_TRUE(holds(line, "is not drawn: ")) << line;
    EXPECT_TRUE(holds(line, "events.jsonl")) << line;
  }
  std::filesystem::remove_all(folder / "c/mixing");
  damaged.clear();
  EXPECT_TRUE(drawn_runs(study, 4, &damaged).empty());
  EXPECT_EQ(damaged.size(), 3U) << "weights are read where they are drawn";
}

}  // namespace
}  // namespace feroma
