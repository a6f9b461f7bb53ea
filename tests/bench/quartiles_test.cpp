#include "feroma/bench/quartiles.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/expect_error.h"

namespace feroma {
namespace {

TEST(Quartiles, OfAnOddCountAreValuesOfTheSample) {
  const Quartiles q = quartiles_of(std::vector<double>{5, 1, 4, 2, 3});
  EXPECT_EQ(q.median, 3);
  EXPECT_EQ(q.low, 2);
  EXPECT_EQ(q.high, 4);
  EXPECT_EQ(q.spread(), 2);
  EXPECT_EQ(q.count, 5U);
}

TEST(Quartiles, OfAnEvenCountLieBetweenNeighbours) {
  const Quartiles q = quartiles_of(std::vector<double>{4, 1, 3, 2});
  EXPECT_EQ(q.median, 2.5);
  EXPECT_EQ(q.low, 1.75);
  EXPECT_EQ(q.high, 3.25);
}

TEST(Quartiles, IgnoreOneWildValue) {
  const Quartiles q = quartiles_of(std::vector<double>{1, 1, 1, 1, 1000});
  EXPECT_EQ(q.median, 1);
  EXPECT_EQ(q.spread(), 0);
}

TEST(Quartiles, OfOneValueHaveNoSpread) {
  const Quartiles q = quartiles_of(std::vector<double>{7});
  EXPECT_EQ(q.median, 7);
  EXPECT_EQ(q.spread(), 0);
}

TEST(Quartiles, NeedAValue) {
  expect_error(ErrorCode::internal, "at least one value", [] { return quartiles_of({}).median; });
}

}  // namespace
}  // namespace feroma
