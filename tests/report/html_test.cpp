#include "feroma/report/html.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "feroma/core/files.h"
#include "src/report/heat_map.h"
#include "src/report/line_chart.h"
#include "src/report/markup.h"
#include "src/report/mixing_section.h"
#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/count.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using test::count;
using test::error_of;
using test::holds;
using test::SampleRun;
using test::TempFolder;

std::string page_of(const SampleRun& sample) {
  const TempFolder folder;
  test::write_sample_run(folder / "demo", sample);
  return read_text(write_html_report(folder / "demo"));
}

nlohmann::ordered_json data_of(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"run-data\">";
  const std::size_t begin = page.find(start) + start.size();
  return nlohmann::ordered_json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(HtmlReport, ShowsTableCurvesStrategiesAndMixing) {
  const std::string page = page_of({});
  EXPECT_TRUE(holds(page, "<title>demo · Feroma report</title>"));
  EXPECT_TRUE(holds(page, "<li>clients <b>10</b></li>"));
  EXPECT_TRUE(holds(page, "<td class=\"best\"><b>84.00</b></td>"));
  EXPECT_EQ(count(page, "<path class=\"curve s"), 2U);            // two algorithms
  EXPECT_EQ(count(page, "aria-label=\"Strategy shares of"), 1U);  // only feroma has shares
  EXPECT_EQ(count(page, "<figure data-mixing="), 1U);
  EXPECT_EQ(count(page, "{{"), 0U);
}

TEST(HtmlReport, TheCurveIsTestAccuracyAndEndsWithTheTable) {
  const std::string page = page_of({.test_every = 3});
  EXPECT_TRUE(holds(page, "<h2>Test accuracy over rounds</h2>"));
  EXPECT_TRUE(holds(page, "aria-label=\"test accuracy per round\""));
  EXPECT_FALSE(holds(page, "(as served)"));
  const auto series = data_of(page)["accuracy"]["series"][0];
  EXPECT_EQ(series["test"][7], 84.0) << "as in the table";
  EXPECT_TRUE(series["test"][0].is_null());
  EXPECT_TRUE(holds(page, "<td class=\"best\"><b>84.00</b></td>"));
  // One line over the rounds without a test, with a dot on each of three that have one.
  EXPECT_EQ(count(page, "<circle class=\"dot s0"), 3U);
  const std::size_t begin = page.find("<path class=\"curve s0");
  EXPECT_EQ(count(page.substr(begin, page.find("/>", begin) - begin), "M"), 1U);
}

TEST(HtmlReport, WithoutTestsTheCurveIsAccuracyAsServedAndSaysSo) {
  const std::string page = page_of({});
  EXPECT_TRUE(holds(page, "<h2>Accuracy as served over rounds</h2>"));
  EXPECT_TRUE(holds(page, "</svg>fedavg (as served)</button>"));
  EXPECT_TRUE(holds(page, "before it trained"));
}

TEST(HtmlReport, ACurveThatAnotherCoversIsSeen) {
  const std::string page = page_of({});
  EXPECT_EQ(count(page, "<path class=\"curve s0 c0 \""), 1U) << "solid";
  EXPECT_EQ(count(page, "<path class=\"curve s1 c1 dash1\""), 1U) << "with gaps";
}

TEST(HtmlReport, WhatTitlesDoNotSayStandsBelowTheTable) {
  const std::string page = page_of({});
  for (const char* term : {"known: ", "nearest: ", "best round: ", "match: "}) {
    EXPECT_EQ(count(page, std::string("<li>") + term), 1U) << term;
  }
}

TEST(HtmlReport, LoadsNothingFromElsewhere) {
  const std::string page = page_of({});
  for (const char* part : {"http:", "https:", "src=", "<link", "@import", "url("}) {
    EXPECT_EQ(count(page, part), 0U) << part;
  }
}

TEST(HtmlReport, EscapesNames) {
  // Files with such labels are refused; the page does not rely on it.
  const std::string evil = "feroma<script>alert(1)<!--";
  RoundRecord round;
  round.algorithm = evil;
  round.round = 1;
  RunData run;
  run.name = "demo";
  run.config_text = "[scenario]\ndataset = \"<i>&\"\n";
  run.config = parse_settings(run.config_text, "config.toml");
  run.algorithms.push_back({evil, {round}, {}});
  run.summary = Summary{{}, {test::sample_result(evil, 50), test::sample_result("a&\"b'", 40)}};
  const std::string page = html_report(run);
  for (const char* part : {"<script>alert", "<!--", "<i>&"}) {
    EXPECT_EQ(count(page, part), 0U) << part;
  }
  EXPECT_TRUE(holds(page, "feroma&lt;script&gt;alert(1)&lt;!--"));
  EXPECT_TRUE(holds(page, "dataset <b>&lt;i&gt;&amp;</b>"));
  EXPECT_TRUE(holds(page, "a&amp;&quot;b&#39;"));
  EXPECT_EQ(data_of(page)["accuracy"]["series"][0]["label"], evil);
}

TEST(HtmlReport, AnUnfinishedRunHasAPageToo) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  std::filesystem::remove(folder / "summary.json");
  EXPECT_TRUE(holds(read_text(write_html_report(folder.path())), "The run has not finished"));
}

TEST(HtmlReportSlow, SixAlgorithmsAndAHundredClientsFitInThreeMegabytes) {
  SampleRun sample;
  sample.clients = 100;
  sample.rounds = 20;
  sample.algorithms = {"feroma-auto", "feroma-paper", "feroma-reference", "cluster-a", "cluster-b", "cluster-c"};
  const std::string page = page_of(sample);
  EXPECT_LT(page.size(), std::size_t{3} << 20);
  EXPECT_EQ(data_of(page)["mixing"].size(), 6U);
}

TEST(HeatMap, KeepsWeightsPerMilleInTwoDigits) {
  const TempFolder folder;
  RunWriter writer(folder.path(), RunWriter::Mode::create);
  writer.mixing({"a", 2, {4, 5}, {4, 6}, {1.0, 0.0, 0.25, 0.0004}});
  AlgorithmRun run{"a", {}, {{2, {4, 5}, {4, 6}, folder / "mixing/a-2.npy"}}};
  // 1000 = 27 * 36 + 28 and 250 = 6 * 36 + 34.
  EXPECT_EQ(detail::heat_map_json(run, 100)["rounds"][0]["weights"], "rs006y00");
}

TEST(HeatMap, SourcesShowTheDataTheyWereTrainedOn) {
  const TempFolder folder;
  RunWriter writer(folder.path(), RunWriter::Mode::create);
  writer.mixing({"a", 2, {0, 1}, {0, 1}, {1, 0, 0, 1}});
  AlgorithmRun run{"a", {}, {{2, {0, 1}, {0, 1}, folder / "mixing/a-2.npy"}}};
  for (const int round : {1, 2}) {
    RoundRecord record;
    record.round = round;
    record.clients = {{0, 10 + round, 1, 0, 0, 0, ""}};
    run.rounds.push_back(record);
  }
  const auto json = detail::heat_map_json(run, 100)["rounds"][0];
  EXPECT_EQ(json["receiver_distributions"].dump(), "[12,0]");
  EXPECT_EQ(json["source_distributions"].dump(), "[11,0]");
}

TEST(HeatMap, LeavesOutRoundsBeyondTheBudgetButNeverTheLast) {
  const TempFolder folder;
  test::write_sample_run(folder.path(), {});
  const RunData run = load_run(folder.path());  // rounds 4..8 with 100 weights each
  const auto json = detail::heat_map_json(run.algorithms[0], 250);
  ASSERT_EQ(json["rounds"].size(), 3U);
  EXPECT_EQ(json["rounds"][0]["round"], 4);
  EXPECT_EQ(json["rounds"][2]["round"], 8);
  EXPECT_EQ(json["of"], 5);
}

TEST(HeatMap, LeavesOutARoundThatIsLargerThanTheBudget) {
  const TempFolder folder;
  RunWriter writer(folder.path(), RunWriter::Mode::create);
  writer.mixing({"a", 2, {4, 5}, {4, 6}, {1.0, 0.0, 0.25, 0.0}});
  // The file of round 3 does not exist: what is not drawn is not read.
  const AlgorithmRun run{
      "a", {}, {{2, {4, 5}, {4, 6}, folder / "mixing/a-2.npy"}, {3, {4, 5, 6}, {4, 5, 6}, folder / "mixing/a-3.npy"}}};
  const auto json = detail::heat_map_json(run, 8);
  ASSERT_EQ(json["rounds"].size(), 1U);
  EXPECT_EQ(json["rounds"][0]["round"], 2);
  EXPECT_EQ(json["of"], 2);
  EXPECT_TRUE(detail::heat_map_json(run, 3)["rounds"].empty());
}

TEST(HtmlReport, SaysThatMixingAmongThousandsIsNotDrawn) {
  const std::vector<std::uint32_t> clients(5000);
  RunData run;
  run.name = "large";
  run.algorithms.push_back({"a<b", {}, {{1, clients, clients, "no-such-file.npy"}}});
  const std::string page = html_report(run);
  EXPECT_TRUE(holds(page, "mixing of a&lt;b is not drawn: a single round has too many weights for a page"));
  EXPECT_EQ(count(page, "<figure data-mixing="), 0U);
  EXPECT_EQ(count(page, "id=\"sort\""), 0U) << "nothing to sort";
  EXPECT_LT(page.size(), std::size_t{1} << 20);
}

TEST(MixingSection, HasMapsAndLinesOnWhatHasNone) {
  const auto all = nlohmann::ordered_json::parse(
      R"([{"label": "many", "of": 5, "rounds": []}, {"label": "few", "of": 5, "rounds": [{}, {}]}])");
  const std::string html = detail::mixing_section(all);
  EXPECT_EQ(count(html, "<figure"), 1U);
  EXPECT_TRUE(holds(html, "<figure data-mixing=\"1\"><h3>few (2 of 5 rounds)</h3>")) << "its number in the data";
  EXPECT_TRUE(holds(html, "<li>mixing of many is not drawn: "));
}

TEST(LineChart, FindsTheRoundsInWhichDataChanged) {
  AlgorithmRun run{"a", {}, {}};
  const std::vector<int> distributions{1, 1, 2, 2, 1};
  for (int round = 1; round <= 5; ++round) {
    RoundRecord record;
    record.round = round;
    record.clients = {{0, distributions[static_cast<std::size_t>(round - 1)], 1, 0, 0, 0, ""}};
    run.rounds.push_back(record);
  }
  EXPECT_EQ(detail::curves_of(std::vector{run}).drifts, (std::vector<int>{3, 5}));
}

TEST(LineChart, AMissingRoundBreaksTheCurve) {
  detail::CurveData data{1, 3, {{"a", {50.0, std::nullopt, 60.0}, {std::nullopt, std::nullopt, std::nullopt}}}, {}};
  const std::string svg = detail::line_chart_svg(data);
  EXPECT_EQ(count(svg, "<path"), 1U);
  EXPECT_TRUE(holds(svg, "d=\"M44.0 300.0M984.0 12.0h0\""));
  data.curves[0].test = data.curves[0].before;
  EXPECT_TRUE(holds(detail::line_chart_svg(data), "d=\"M44.0 300.0L984.0 12.0h0\"")) << "not tested, not missing";
}

TEST(LineChart, WithoutNumbersIsStillAChart) { EXPECT_TRUE(holds(detail::line_chart_svg({}), "</svg>")); }

TEST(Markup, WhatIsPutInIsNotLookedAtAgain) {
  EXPECT_EQ(detail::fill_template("<{{a}}-{{b}}>", {{"a", "{{b}}"}, {"b", "x"}}), "<{{b}}-x>");
  EXPECT_TRUE(holds(error_of(ErrorCode::internal, [] { (void)detail::fill_template("{{a}}", {}); }), "unknown part a"));
  EXPECT_TRUE(holds(error_of(ErrorCode::internal, [] { (void)detail::fill_template("{{a", {}); }), "open {{"));
}

}  // namespace
}  // namespace feroma
