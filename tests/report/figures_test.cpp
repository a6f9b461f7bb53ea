#include "feroma/report/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "feroma/core/files.h"
#include "feroma/core/npy.h"
#include "src/report/axis.h"
#include "src/report/bar_chart.h"
#include "src/report/chart_style.h"
#include "src/report/mixing_chart.h"
#include "src/report/profile_map.h"
#include "src/report/rank_chart.h"
#include "src/report/trajectory_chart.h"
#include "tests/core/expect_error.h"
#include "tests/report/count.h"
#include "tests/report/study_runs.h"

namespace feroma {
namespace {

using test::count;
using test::error_of;
using test::holds;
using test::run_with_profiles;
using test::runs_in;
using test::sample_result;
using test::study_of;
using test::TempFolder;
using test::write_cell;

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
  test::write_sample_run(folder / "run", {});
  const std::string svg = detail::trajectory_svg(load_run(folder / "run").algorithms[0], 1);
  EXPECT_EQ(count(svg, "<path class=\"client c1\""), 10U);
  EXPECT_EQ(count(svg, "<path class=\"curve after c1\""), 1U);
  EXPECT_EQ(count(svg, "<path class=\"curve before c1\""), 1U);
  EXPECT_EQ(count(svg, "class=\"drift\""), 3U);  // before rounds 3, 5 and 7
  EXPECT_TRUE(holds(svg, ">accuracy %<"));
  EXPECT_TRUE(holds(svg, ">round<"));
}

TEST(Trajectories, OfManyClientsDrawSome) {
  const TempFolder folder;
  test::write_sample_run(folder / "run", {.clients = 150, .rounds = 2, .algorithms = {"fedavg"}});
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
  EXPECT_EQ(last.distribution, test::sample_distribution({}, static_cast<int>(last.client), 8));
}

TEST(ProfileMap, ARoundThatNamesTheClientsOfItsRowsIsBelieved) {
  const TempFolder folder;
  RunData run = run_with_profiles(folder);
  AlgorithmRun& algorithm = run.algorithms[0];
  std::vector<std::uint32_t>& rows = algorithm.profile_rows[8];
  for (std::uint32_t k = 10; k > 0; --k) {
    rows.push_back(k - 1);
  }
  const auto map = detail::profile_map(algorithm);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->points[0].client, 9U);
  EXPECT_EQ(map->points[9].client, 0U);
  rows.pop_back();
  EXPECT_EQ(detail::profile_map(algorithm)->points.size(), 40U)
      << "nine names for ten rows: nobody knows whose they are";
}

TEST(ProfileMap, AnInfinityIsDamage) {
  const TempFolder folder;
  const RunData run = run_with_profiles(folder);
  NpyArray array = read_npy(run.algorithms[0].folder / "profiles/feroma-auto-8.npy");
  std::vector<double> values = array.to_doubles();
  std::vector<float> broken(values.begin(), values.end());
  broken[3] = std::numeric_limits<float>::infinity();
  write_file_atomically(array.name, npy_bytes(broken, array.shape));
  EXPECT_TRUE(holds(error_of(ErrorCode::invalid_data, [&] { (void)detail::profile_map(run.algorithms[0]); }),
                    "feroma-auto-8.npy: must hold no infinity"));
}

TEST(ProfileMap, OfManyClientsShowsSome) {
  const TempFolder folder;
  const test::SampleRun sample{.clients = 1300, .rounds = 4};
  const RunData run = run_with_profiles(folder, sample);
  const auto map = detail::profile_map(run.algorithms[0]);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->points.size(), 650U);  // every second
  EXPECT_EQ(map->points.back().client, 1298U);
  EXPECT_EQ(map->profiles.shown, 650U);
  EXPECT_EQ(map->profiles.all, 1300U);
}

TEST(MixingCharts, HaveAPanelPerRoundAndPerClient) {
  const TempFolder folder;
  test::write_sample_run(folder / "run", {});
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
  test::write_sample_run(folder / "long", {.clients = 100, .rounds = 4, .algorithms = {"feroma-auto"}});
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

/// The caption of the figure of this name.
std::string caption_of(const RunData& run, const std::string& name) {
  for (const Figure& figure : run_figures(run)) {
    if (figure.name == name) {
      return figure.caption;
    }
  }
  return "no figure " + name;
}

TEST(RunFigures, SayHowManyClientsAndRoundsTheyShow) {
  const TempFolder folder;
  const RunData run = long_run(folder, 17);  // 100 clients
  EXPECT_TRUE(caption_of(run, "long-accuracy-feroma-auto")
                  .ends_with(" Drawn are 50 of 100 clients, evenly; means are over all."))
      << caption_of(run, "long-accuracy-feroma-auto");
  EXPECT_EQ(count(detail::trajectory_svg(run.algorithms[0], 0), "<path class=\"client"), 50U);
  EXPECT_TRUE(caption_of(run, "long-mixing-rounds-feroma-auto")
                  .ends_with(" Drawn are 4 of 17 rounds, evenly and with the last."))
      << "40 000 cells are four rounds of 100 clients: " << caption_of(run, "long-mixing-rounds-feroma-auto");
  EXPECT_TRUE(caption_of(run, "long-mixing-clients-feroma-auto").ends_with(" Drawn are 20 of 100 clients, the first."));
  test::write_sample_run(folder / "small", {});
  const RunData small = load_run(folder / "small");
  EXPECT_TRUE(holds(caption_of(small, "small-accuracy-feroma-auto"), "Faint: each client after training"));
  for (const char* name :
       {"small-accuracy-feroma-auto", "small-mixing-rounds-feroma-auto", "small-mixing-clients-feroma-auto"}) {
    EXPECT_FALSE(holds(caption_of(small, name), "Drawn are")) << name;
  }
  EXPECT_TRUE(undrawn_figures(small).empty());
}

TEST(RunFigures, SayHowManyProfilesTheyShow) {
  const TempFolder few;
  EXPECT_FALSE(holds(caption_of(run_with_profiles(few), "run-profiles-feroma-auto"), "Drawn are"));
  // 700 profiles in each of rounds 4 and 5: those of round 4 would make it more than 1 200.
  const TempFolder many;
  const RunData run = run_with_profiles(many, {.clients = 700, .rounds = 5});
  EXPECT_TRUE(caption_of(run, "run-profiles-feroma-auto")
                  .ends_with(" Drawn are 700 of 1400 profiles, those of the last rounds and evenly over clients."))
      << caption_of(run, "run-profiles-feroma-auto");
}

TEST(RunFigures, MarkWhereDataChangedBehindAllAlgorithmsToo) {
  const TempFolder folder;
  test::write_sample_run(folder / "run", {});
  const Figure figure = run_figures(load_run(folder / "run")).front();
  ASSERT_EQ(figure.name, "run-accuracy");
  // Before rounds 3, 5 and 7 of 8, which stand evenly from 74 to 522: 74 + 64 * 1.5 and so on.
  EXPECT_EQ(count(figure.svg, "class=\"drift\""), 3U);
  for (const char* place : {"x1=\"170.0\" x2=\"170.0\"", "x1=\"298.0\"", "x1=\"426.0\""}) {
    EXPECT_TRUE(holds(figure.svg, place)) << place;
  }
  EXPECT_TRUE(holds(figure.svg, "data change 3 times"));
  EXPECT_TRUE(figure.caption.ends_with(" Dotted uprights mark where data changed."));
  test::write_sample_run(folder / "still", {.distributions = 1});
  const Figure still = run_figures(load_run(folder / "still")).front();
  EXPECT_EQ(count(still.svg, "class=\"drift\""), 0U);
  EXPECT_FALSE(holds(still.caption, "Dotted"));
}

TEST(RunFigures, AreOfTestAccuracyWhereItIsKnown) {
  const TempFolder folder;
  feroma::test::write_sample_run(folder / "old", {});
  feroma::test::write_sample_run(folder / "new", {.test_every = 2});
  const Figure old = run_figures(load_run(folder / "old")).front();
  EXPECT_TRUE(holds(old.svg, "accuracy as served %"));
  EXPECT_TRUE(holds(old.svg, "fedavg (as served)"));
  const RunData run = load_run(folder / "new");
  const Figure tested = run_figures(run).front();
  EXPECT_TRUE(holds(tested.svg, "test accuracy %"));
  EXPECT_TRUE(holds(tested.caption, "Test accuracy: the mean over test clients"));
  EXPECT_EQ(count(tested.svg, "<circle"), 8U) << "four rounds of each";
  EXPECT_TRUE(holds(caption_of(run, "new-accuracy-fedavg"), "solid: test accuracy"));
  EXPECT_FALSE(holds(caption_of(load_run(folder / "old"), "old-accuracy-fedavg"), "solid"));
}

TEST(RunFigures, SayWhyMixingAmongVeryManyIsNotDrawn) {
  const TempFolder folder;
  test::write_sample_run(folder / "many", {.clients = 201, .rounds = 4, .algorithms = {"feroma-auto"}});
  const RunData run = load_run(folder / "many");
  for (const Figure& figure : run_figures(run)) {
    EXPECT_FALSE(holds(figure.name, "mixing")) << figure.name;
  }
  const std::vector<std::string> lines = undrawn_figures(run);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(holds(lines[0], "mixing of feroma-auto is not drawn: a figure of more than 200 clients"));
  EXPECT_TRUE(holds(study_html(study_of(folder), published_figures(), {run}, "page"), lines[0]));
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

/// Where the text that starts like this is anchored.
double place_of_text(const std::string& svg, const std::string& start) {
  const std::size_t at = svg.rfind(" x=\"", svg.find(">" + start));
  return std::stod(svg.substr(at + 4));
}

TEST(RankChart, IsAsWideAsItsLabelsNeed) {
  Comparison comparison;
  comparison.labels = {std::string(60, 'v'), std::string(60, 'w')};
  comparison.friedman = {5, 2, {1, 2}, 5, 0.025};
  comparison.critical_difference = 0.88;
  const std::string svg = detail::rank_chart_svg(comparison);
  const double length = detail::text_width(comparison.labels[0] + " (1.00)");
  EXPECT_GE(place_of_text(svg, comparison.labels[0]), length) << "it ends there";
  EXPECT_LE(place_of_text(svg, comparison.labels[1]) + length, detail::size_of_chart(svg).width) << "it starts there";
  comparison.labels = {"feroma-auto", "fedavg"};
  EXPECT_EQ(detail::size_of_chart(detail::rank_chart_svg(comparison)).width, 640);
}

TEST(CostBars, AreAsWideAsTheirLabelsNeed) {
  ResultGroup group;
  GroupRow row;
  row.label = std::string(60, 'w');
  row.values.assign(group_columns().size(), MeanDeviation{10, std::nullopt, 1});
  group.rows = {row};
  const std::string svg = detail::cost_bars_svg(group);
  EXPECT_GE(place_of_text(svg, row.label), detail::text_width(row.label)) << "it ends there";
  EXPECT_LE(place_of_text(svg, "10.0<") + detail::text_width("10.0"), detail::size_of_chart(svg).width);
  group.rows[0].label = "fedavg";
  EXPECT_EQ(detail::size_of_chart(detail::cost_bars_svg(group)).width, 560);
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
  test::write_sample_run(folder / "sample", {});
  const Study study = study_of(folder);
  const std::string page = study_html(study, published_figures(), drawn_runs(study, 1), "page");
  EXPECT_TRUE(holds(page, "Drawn are 1 of 8 settings; --runs draws more."));
  EXPECT_TRUE(holds(page, "Drawn are the costs of 6 of 8 settings."));
  EXPECT_EQ(count(page, "<h2>fmnist, covariate, high, drifts 10, rounds 8, clients 10"), 2U)
      << "Fashion-MNIST comes first; its results and its run are headed by the setting";
  const std::string whole = study_html(study, published_figures(), std::vector<RunData>(8), "page");
  EXPECT_FALSE(holds(whole, "Drawn are 8"));
}

}  // namespace
}  // namespace feroma
