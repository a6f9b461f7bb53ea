#include "feroma/report/console.h"

#include <gtest/gtest.h>

#include <limits>

#include "feroma/report/summary.h"
#include "tests/report/sample_run.h"

namespace feroma {
namespace {

using testing::sample_result;

TEST(ResultsTable, AlignsNumbersAndWritesADashWhereThereIsNone) {
  const std::vector<ResultRecord> results{sample_result("feroma-auto", 84.126), sample_result("fedavg", 7)};
  EXPECT_EQ(results_table(results),
            "algorithm    accuracy  ± clients  worst 10 %  known  few labels  nearest  best round  match  seconds\n"
            "feroma-auto     84.13       3.10       75.88  85.13       84.88    83.63       84.63   95 %     21.5\n"
            "fedavg           7.00       3.10       -1.25   8.00           -        -        7.50      -     21.5\n");
}

TEST(ResultsTable, NamesTheMetricOfMultiLabelData) {
  ResultRecord result = sample_result("fedavg", 70);
  result.metric = "auroc";
  result.accuracy_std_clients = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(results_table(std::vector{result}),
            "algorithm  auroc  ± clients  worst 10 %  known  few labels  nearest  best round  match  seconds\n"
            "fedavg     70.00          -       61.75  71.00           -        -       70.50      -     21.5\n");
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

TEST(ResultsTable, AMethodWithoutMeaningHasNoNumbers) {
  const std::vector<ResultRecord> results{sample_result("fedavg", 70), not_applicable("atp", "atp", "several labels")};
  const std::string table = results_table(results);
  const std::string line = table.substr(table.find("atp"));
  EXPECT_NE(line.find("N/A"), std::string::npos) << table;
  EXPECT_EQ(line.find_first_of("0123456789"), std::string::npos) << table;
}

}  // namespace
}  // namespace feroma
