#include "src/report/csv.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/expect_error.h"

namespace feroma::detail {
namespace {

using feroma::test::error_of;
using Fields = std::vector<std::string>;

TEST(Csv, SplitsPlainAndQuotedFields) {
  EXPECT_EQ(split_csv_line("a,,c", "x"), (Fields{"a", "", "c"}));
  EXPECT_EQ(split_csv_line("", "x"), (Fields{""}));
  EXPECT_EQ(split_csv_line("\"a,\"\"b\"\"\",\"\"", "x"), (Fields{"a,\"b\"", ""}));
}

TEST(Csv, QuotesOutOfPlaceAreNamedByLineAndColumn) {
  EXPECT_EQ(error_of(ErrorCode::invalid_data, [] { (void)split_csv_line("a,b\"c", "m.csv:3"); }),
            "m.csv:3: column 2 has a quote inside");
  EXPECT_EQ(error_of(ErrorCode::invalid_data, [] { (void)split_csv_line("a,\"b", "m.csv:3"); }),
            "m.csv:3: column 2 has no closing quote");
  EXPECT_EQ(error_of(ErrorCode::invalid_data, [] { (void)split_csv_line("\"a\"b,c", "m.csv:3"); }),
            "m.csv:3: column 1 has text after its closing quote");
}

RC_GTEST_PROP(Csv, AnyTextComesBack, (const std::string& a, const std::string& b)) {
  RC_ASSERT(split_csv_line(csv_field(a) + "," + csv_field(b), "x") == (Fields{a, b}));
}

}  // namespace
}  // namespace feroma::detail
