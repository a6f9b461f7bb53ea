#include "feroma/report/console.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace feroma
