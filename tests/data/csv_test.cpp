#include "feroma/data/csv.h"

#include <gtest/gtest.h>

#include "tests/expect_error.h"

namespace feroma {
namespace {

void refuses_csv(std::string_view text, std::string_view part) {
  expect_error(ErrorCode::invalid_data, part, [&] { return parse_csv(text, "t.csv"); });
}

TEST(Csv, ReadsRowsAndColumns) {
  const CsvTable table = parse_csv("a,b\n1,x\n-2.5,\n", "t.csv");
  EXPECT_EQ(table.columns(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(table.rows(), 2U);
  EXPECT_EQ(table.cell(0, 1), "x");
  EXPECT_EQ(table.number(1, 0), -2.5);
  EXPECT_EQ(table.cell(1, 1), "");
  EXPECT_EQ(table.integer(0, 0), 1);
}

TEST(Csv, ReadsQuotesAsTheStandardSays) {
  const CsvTable table = parse_csv("a,b\r\n\"x, \"\"y\"\"\",\"two\nlines\"\r\nlast,1", "t.csv");
  EXPECT_EQ(table.cell(0, 0), "x, \"y\"");
  EXPECT_EQ(table.cell(0, 1), "two\nlines");
  EXPECT_EQ(table.cell(1, 0), "last");
  EXPECT_EQ(table.line(1), 4U) << "the quoted line break counts";
}

TEST(Csv, SkipsAByteOrderMarkAndStopsAtMaxRows) {
  const CsvTable table = parse_csv(
      "\xef\xbb\xbf"
      "a\n1\n2\nbroken,row\n",
      "t.csv", 2);
  EXPECT_EQ(table.columns().front(), "a");
  EXPECT_EQ(table.rows(), 2U);
}

TEST(Csv, RefusesRaggedRowsByLine) {
  refuses_csv("a,b\n1,2\n3\n", "t.csv:3: every row must have 2 cells like the header, got 1");
  refuses_csv("a,b\n1,2,3\n", "t.csv:2: every row must have 2 cells like the header, got 3");
  refuses_csv("a,b\n1,2\n\n", "t.csv:3: every row must have 2 cells");
}

TEST(Csv, RefusesTextThatIsNotUtf8) {
  refuses_csv("a,b\n1,\xe9\n", "t.csv:2: the text must be UTF-8, got byte e9 at offset 6");
  refuses_csv("a\n\xc0\xaf\n", "must be UTF-8");          // an overlong slash
  refuses_csv("a\n\xe0\x80\xaf\n", "must be UTF-8");      // the same slash in three bytes
  refuses_csv("a\n\xed\xa0\x80\n", "must be UTF-8");      // half of a surrogate pair
  refuses_csv("a\n\xf4\x90\x80\x80\n", "must be UTF-8");  // beyond Unicode
  EXPECT_EQ(parse_csv("a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\n", "t.csv").rows(), 1U);
}

TEST(Csv, RefusesStrayQuotesAndHeaders) {
  refuses_csv("a\n\"open", "t.csv:2: a quoted cell must be closed");
  refuses_csv("a\nx\"y\n", "a quote must open its cell");
  refuses_csv("a\n\"x\"y\n", "a closing quote must be followed by");
  refuses_csv("a,a\n", "column names must differ, got \"a\" twice");
  refuses_csv("a,\n", "every column must have a name");
  refuses_csv("", "must have a header, got an empty file");
  refuses_csv("a\n1\r2\n", "a carriage return must be followed by a line feed");
}

TEST(Csv, ChecksNumbersAndColumns) {
  const CsvTable table = parse_csv("age,sex\n12x,M\nnan,F\n1e999,F\n", "t.csv");
  const auto number = [&](std::size_t row) { return [&table, row] { return table.number(row, 0); }; };
  expect_error(ErrorCode::invalid_data, "t.csv:2: column \"age\" must be a finite number, got \"12x\"", number(0));
  expect_error(ErrorCode::invalid_data, "t.csv:3: column \"age\" must be a finite number", number(1));
  expect_error(ErrorCode::invalid_data, "t.csv:4: column \"age\" must be a finite number", number(2));
  expect_error(ErrorCode::invalid_data, "t.csv: must have a column \"agee\", got age, sex; did you mean \"age\"?",
               [&] { return table.column("agee"); });
}

TEST(Csv, NamesSomeOfManyColumns) {
  std::string header = "c1";
  for (int i = 2; i <= 23; ++i) {
    header += ",c" + std::to_string(i);
  }
  const CsvTable table = parse_csv(header + "\n", "t.csv");
  expect_error(ErrorCode::invalid_data, "must have a column \"disease\", got c1, c2, c3, ",
               [&] { return table.column("disease"); });
  expect_error(ErrorCode::invalid_data, ", c19, c20 and 3 more", [&] { return table.column("disease"); });
}

}  // namespace
}  // namespace feroma
