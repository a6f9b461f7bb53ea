#include "feroma/report/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using nlohmann::ordered_json;
using test::error_of;
using test::holds;
using test::sample_result;

Summary sample_summary() {
  return {{{"clients", std::int64_t{20}},
           {"participation", 1.0},
           {"dataset", std::string("fmnist")},
           {"force_change", false}},
          {sample_result("feroma-auto", 84), sample_result("fedavg", 75)}};
}

std::string refusal(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return error_of(ErrorCode::invalid_data, [&] { (void)parse_summary(text, "summary.json"); });
}

TEST(Summary, HasExactlyTheContractsKeysInOrder) {
  const ordered_json json = ordered_json::parse(summary_json(sample_summary()));
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["results"][0].items()) {
    keys.push_back(key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"label",
                                            "algorithm",
                                            "preset",
                                            "seed",
                                            "accuracy",
                                            "accuracy_std_clients",
                                            "accuracy_worst10",
                                            "accuracy_known",
                                            "accuracy_few_label",
                                            "accuracy_nearest",
                                            "accuracy_best_round",
                                            "metric",
                                            "match_rate",
                                            "seconds_total",
                                            "seconds",
                                            "samples_per_second",
                                            "bytes_up_per_client_round",
                                            "bytes_down_per_client_round",
                                            "profile_floats",
                                            "peak_rss_bytes",
                                            "epsilon",
                                            "accuracy_newcomers",
                                            "accuracy_expectation",
                                            "accuracy_personal",
                                            "forward_passes_per_client_round",
                                            "backward_passes_per_client_round",
                                            "test_forward_passes",
                                            "test_backward_passes",
                                            "test_bytes_up",
                                            "test_bytes_down",
                                            "not_applicable",
                                            "dp_guarantee",
                                            "failed",
                                            "detection_auroc"}));
  EXPECT_EQ(json["results"][0]["seconds"].dump(),
            R"({"data":0.5,"train":18.0,"profile":0.25,"map":0.125,"aggregate":0.5,"evaluate":2.0,"save":0.125})");
  EXPECT_EQ(json["scenario"].dump(), R"({"clients":20,"dataset":"fmnist","force_change":false,"participation":1.0})");
}

TEST(Summary, OlderFilesHaveNoSchemaAndNewerOnesAreRefused) {
  const std::string text = summary_json(sample_summary());
  EXPECT_EQ(ordered_json::parse(text)["schema"], 1);
  ordered_json older = ordered_json::parse(text);
  older.erase("schema");
  EXPECT_EQ(parse_summary(older.dump(), "summary.json").results.size(), 2U);
  EXPECT_TRUE(holds(refusal(text, "\"schema\": 1", "\"schema\": 2"), "summary.json: schema 2 is newer than 1"));
  EXPECT_TRUE(holds(refusal(text, "\"schema\": 1", "\"schema\": \"x\""), "schema must be an integer >= 1, got \"x\""));
}

TEST(Summary, AbsentAndNonFiniteValuesAreNull) {
  Summary summary = sample_summary();
  summary.results[1].seconds.erase("profile");
  summary.results[1].accuracy_std_clients = std::numeric_limits<double>::infinity();
  const ordered_json result = ordered_json::parse(summary_json(summary))["results"][1];
  for (const char* key :
       {"accuracy_few_label", "accuracy_nearest", "match_rate", "profile_floats", "epsilon", "accuracy_std_clients"}) {
    EXPECT_TRUE(result[key].is_null()) << key;
  }
  EXPECT_TRUE(result["seconds"]["profile"].is_null());
}

TEST(Summary, ReadsBackWhatItWrote) {
  const test::TempFolder folder;
  Summary written = sample_summary();
  written.results[0].epsilon = 4.5;
  written.results[1].accuracy = std::numeric_limits<double>::quiet_NaN();
  write_summary(folder / "summary.json", written);
  const Summary read = read_summary(folder / "summary.json");
  EXPECT_EQ(read.scenario, written.scenario);
  ASSERT_EQ(read.results.size(), 2U);
  EXPECT_EQ(read.results[0].label, "feroma-auto");
  EXPECT_EQ(read.results[0].epsilon, 4.5);
  EXPECT_EQ(read.results[0].seconds, written.results[0].seconds);
  EXPECT_EQ(read.results[0].profile_floats, 120);
  EXPECT_EQ(read.results[1].match_rate, std::nullopt);
  EXPECT_TRUE(std::isnan(read.results[1].accuracy));
  EXPECT_EQ(summary_json(read), summary_json(written));
}

TEST(Summary, TakesTheScenarioTableOfAConfig) {
  const Settings settings{{"scenario.clients", {std::int64_t{20}, ""}},
                          {"training.model", {std::string("lenet5"), ""}}};
  EXPECT_EQ(scenario_of(settings), (Scenario{{"clients", std::int64_t{20}}}));
}

TEST(Summary, DamageIsNamed) {
  const std::string text = summary_json(sample_summary());
  EXPECT_EQ(refusal(text, "\"metric\": \"accuracy\"", "\"metric\": 7"),
            "summary.json: result 0: metric must be a string, got 7");
  EXPECT_EQ(refusal(text, "\"label\"", "\"lable\""), "summary.json: result 0: label is missing");
  EXPECT_EQ(refusal(text, "\"label\": \"feroma-auto\"", "\"label\": \"=1+1\""),
            "summary.json: result 0: label must be up to 64 letters, digits, '-', '_' or '.', got \"=1+1\"")
      << "a spreadsheet would take it for a formula";
  EXPECT_EQ(refusal(text, "\"seed\": 42", "\"seed\": 18446744073709551615"),
            "summary.json: result 0: seed must be an integer, got 18446744073709551615");
  EXPECT_EQ(refusal(text, "\"accuracy\": 84.0", "\"accuracy\": \"84\""),
            "summary.json: result 0: accuracy must be a number or null, got \"84\"");
  EXPECT_EQ(refusal(text, "\"accuracy\": 84.0", "\"accuracy\": 5000.0"),
            "summary.json: result 0: accuracy must be in 0..100, got 5000");
  EXPECT_TRUE(holds(refusal(text, "\"match_rate\": ", "\"match_rate\": -"), "match_rate must be in 0..1, got -"));
  EXPECT_TRUE(holds(refusal(text, "\"detection_auroc\": null", "\"detection_auroc\": 1.5"),
                    "detection_auroc must be in 0..1, got 1.5"));
  EXPECT_TRUE(holds(refusal(text, "\"seconds_total\": ", "\"seconds_total\": -"), "seconds_total must be >= 0, got -"));
  EXPECT_TRUE(holds(refusal(text, "\"train\": ", "\"train\": -"), "seconds.train must be >= 0, got -"));
  EXPECT_TRUE(
      holds(refusal(text, "\"clients\": 20", "\"clients\": []"), "scenario.clients: must be a boolean, number"));
  EXPECT_TRUE(
      holds(refusal(text, "\"results\"", "\"result\""), "must have an object `scenario` and an array `results`"));
}

TEST(Summary, EveryTruncationPointIsRefused) {
  const std::string text = summary_json(sample_summary());
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    (void)error_of(ErrorCode::invalid_data, [&] { (void)parse_summary(text.substr(0, length), "summary.json"); });
  }
}

TEST(Summary, AnUnknownStageIsABug) {
  Summary summary = sample_summary();
  summary.results[0].seconds["coffee"] = 1;
  EXPECT_EQ(error_of(ErrorCode::internal, [&] { (void)summary_json(summary); }),
            "[report] seconds has no stage coffee");
}

TEST(Summary, AMethodWithoutMeaningHasAReasonAndNoNumbers) {
  const std::string text = summary_json({{}, {not_applicable("atp", "atp", "several labels")}});
  const ordered_json json = ordered_json::parse(text)["results"][0];
  EXPECT_TRUE(json["accuracy"].is_null());
  EXPECT_TRUE(json["bytes_up_per_client_round"].is_null());
  EXPECT_TRUE(json["peak_rss_bytes"].is_null());
  EXPECT_EQ(json["not_applicable"], "several labels");
  const ResultRecord read = parse_summary(text, "summary.json").results[0];
  EXPECT_TRUE(std::isnan(read.accuracy));
  EXPECT_EQ(read.not_applicable, "several labels");
}

TEST(Summary, OfAnEarlierVersionIsRead) {
  ordered_json json = ordered_json::parse(summary_json(sample_summary()));
  json["results"][0].erase("not_applicable");
  EXPECT_FALSE(parse_summary(json.dump(), "summary.json").results[0].not_applicable);
}

}  // namespace
}  // namespace feroma
