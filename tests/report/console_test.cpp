#include "feroma/report/console.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "feroma/report/summary.h"
#include "report/result_table.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using test::sample_result;

TEST(ResultsTable, AlignsNumbersAndWritesADashWhereThereIsNone) {
  const std::vector<ResultRecord> results{sample_result("feroma-auto", 84.126), sample_result("fedavg", 7)};
  EXPECT_EQ(results_table(results),
            "algorithm    accuracy  ± clients  worst 10 %  known  few labels  nearest  best round  match  seconds\n"
            "feroma-auto     84.13       3.10       75.88  85.13       84.88    83.63       84.63   95 %     21.5\n"
            "fedavg           7.00       3.10        0.00   8.00           -        -        7.00      -     21.5\n");
}

// One model for everybody: that a client is known changes nothing.
TEST(ResultsTable, KnownIsShownWhereItSaysSomething) {
  std::vector<ResultRecord> results{sample_result("fedavg", 70)};
  results[0].accuracy_known = 70.00000000000001;
  EXPECT_NE(results_table(results).find("fedavg        70.00       3.10       61.75      -"), std::string::npos)
      << results_table(results);
  EXPECT_EQ(results_notes(results).find("known: "), std::string::npos);
  results[0].accuracy_known = 31.9;
  EXPECT_NE(results_notes(results).find("known: "), std::string::npos);
}

TEST(ResultsTable, ALineSaysWhatAColumnIsThatHasValues) {
  EXPECT_EQ(results_notes({}), "");
  const std::string notes = results_notes(std::vector{sample_result("fedavg", 70), sample_result("feroma-auto", 80)});
  for (const char* term : {"known: ", "few labels: ", "nearest: ", "best round: ", "match: "}) {
    EXPECT_NE(notes.find(term), std::string::npos) << term;
  }
  EXPECT_EQ(std::count(notes.begin(), notes.end(), '\n'), 5);
}

TEST(ResultsTable, NamesTheMetricOfMultiLabelData) {
  ResultRecord result = sample_result("fedavg", 70);
  result.metric = "auroc";
  result.accuracy_std_clients = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(results_table(std::vector{result}),
            "algorithm  auroc  ± clients  worst 10 %  known  few labels  nearest  best round  match  seconds\n"
            "fedavg     70.00          -       61.75  71.00           -        -       70.00      -     21.5\n");
}

TEST(ResultsTable, WithoutResultsHasOnlyItsHead) {
  EXPECT_EQ(results_table({}),
            "algorithm  accuracy  ± clients  worst 10 %  known  few labels  nearest  best round  match  seconds\n");
}

TEST(ResultsTable, FourAlgorithmsAreAComparisonWithRanksAndCosts) {
  std::vector<ResultRecord> results(4);
  const std::vector<double> accuracies{50, 70, 70, 60};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].label = std::string(1, static_cast<char>('a' + i));
    results[i].accuracy = accuracies[i];
    results[i].bytes_up_per_client_round = 1000.0 * static_cast<double>(i + 1);
  }
  results[2].accuracy_expectation = 12;
  const std::string table = results_table(results);
  EXPECT_NE(table.find("70.00 #1"), std::string::npos) << table;
  EXPECT_NE(table.find("60.00 #3"), std::string::npos) << "both of the best come before it\n" << table;
  EXPECT_NE(table.find("50.00 #4"), std::string::npos);
  EXPECT_NE(table.find("12.00 #1"), std::string::npos);
  EXPECT_NE(table.find("1.0 #1"), std::string::npos) << "fewer bytes are better";
  results.pop_back();
  EXPECT_EQ(results_table(results).find('#'), std::string::npos);
  EXPECT_EQ(results_table(results).find("kB"), std::string::npos);
}

// Every column ranks the four in an order of its own: accuracy 4 1 2 3, worst 10 % 2 3 1 4, seconds 3 2 4 1, kB up
// 1 2 3 4, kB down 2 1 4 3.
TEST(ResultsTable, EveryColumnIsRankedByItsOwnValues) {
  std::vector<ResultRecord> results(4);
  const std::vector<double> accuracies{50, 80, 70, 60};
  const std::vector<double> worst{30, 20, 40, 10};
  const std::vector<double> seconds{7.5, 6.5, 8.5, 5.5};
  const std::vector<double> up{1000, 2000, 3000, 4000};
  const std::vector<double> down{6000, 5000, 8000, 7000};
  for (std::size_t i = 0; i < results.size(); ++i) {
    results[i].accuracy = accuracies[i];
    results[i].accuracy_worst10 = worst[i];
    results[i].seconds_total = seconds[i];
    results[i].bytes_up_per_client_round = up[i];
    results[i].bytes_down_per_client_round = down[i];
  }
  using Texts = std::vector<std::string>;
  std::map<std::string, Texts> texts;
  for (const detail::ResultColumn& column : detail::result_columns(results)) {
    texts[column.title] = column.texts;
  }
  EXPECT_EQ(texts.at("accuracy"), (Texts{"50.00 #4", "80.00 #1", "70.00 #2", "60.00 #3"}));
  EXPECT_EQ(texts.at("worst 10 %"), (Texts{"30.00 #2", "20.00 #3", "40.00 #1", "10.00 #4"}));
  EXPECT_EQ(texts.at("seconds"), (Texts{"7.5 #3", "6.5 #2", "8.5 #4", "5.5 #1"}));
  EXPECT_EQ(texts.at("kB up"), (Texts{"1.0 #1", "2.0 #2", "3.0 #3", "4.0 #4"}));
  EXPECT_EQ(texts.at("kB down"), (Texts{"6.0 #2", "5.0 #1", "8.0 #4", "7.0 #3"}));
  EXPECT_NE(results_table(results).find("7.5 #3  1.0 #1   6.0 #2"), std::string::npos) << results_table(results);
}

TEST(ResultsTable, AMethodWithoutMeaningHasNoNumbers) {
  const std::vector<ResultRecord> results{sample_result("fedavg", 70), not_applicable("atp", "atp", "several labels")};
  const std::string table = results_table(results);
  const std::string line = table.substr(table.find("atp"));
  EXPECT_NE(line.find("N/A"), std::string::npos) << table;
  EXPECT_EQ(line.find_first_of("0123456789"), std::string::npos) << table;
}

}  // namespace
}  // namespace feroma
