#include "feroma/mapping/limit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "feroma/core/rng.h"

namespace feroma {
namespace {

/// One row whose own source is the column `own`.
std::vector<double> limited(std::vector<double> row, std::size_t own, double most = 0.25) {
  Matrix weights(1, row.size());
  weights.values = std::move(row);
  return limit_shares(std::move(weights), std::vector<std::size_t>{own}, most).values;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& wanted) {
  ASSERT_EQ(values.size(), wanted.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], wanted[i], 1e-12) << i;
  }
}

TEST(LimitShares, WhatIsAboveGoesToTheOthersInProportion) {
  expect_near(limited({0.55, 0.2, 0.15, 0.1}, 4, 0.4), {0.4, 0.2 + 0.15 * 4 / 9, 0.15 + 0.05, 0.1 + 0.15 * 2 / 9});
}

TEST(LimitShares, AClientMayTakeItsOwnModel) {
  expect_near(limited({0.9, 0.05, 0.03, 0.02}, 0), {0.9, 0.05, 0.03, 0.02});
  expect_near(limited({0.04, 0.95, 0.01}, 0), {0.6, 0.25, 0.15});
}

TEST(LimitShares, OneSourceStaysAloneWhereThereIsNoCompany) {
  expect_near(limited({1 - 3e-9, 1e-9, 1e-9, 1e-9}, 4), {1 - 3e-9, 1e-9, 1e-9, 1e-9});
}

TEST(LimitShares, TooFewSourcesShareAlike) { expect_near(limited({0.7, 0.25, 0.05}, 3), {1.0 / 3, 1.0 / 3, 1.0 / 3}); }

TEST(LimitShares, SourcesOfOtherDistributionsGetNothing) {
  expect_near(limited({0.7, 0.15, 0.09, 0.0599, 0.0001, 0}, 6), {0.25, 0.25, 0.25, 0.2499, 0.0001, 0});
}

RC_GTEST_PROP(LimitSharesProperty, KeepsSumsAndLimits, (std::uint16_t seed)) {
  Rng rng(seed);
  std::vector<double> row(5 + rng.below(10));
  for (double& value : row) {
    value = 0.01 + rng.uniform() * rng.uniform();
  }
  const double sum = std::accumulate(row.begin(), row.end(), 0.0);
  for (double& value : row) {
    value /= sum;
  }
  const std::size_t own = rng.below(row.size() + 1);
  const std::vector<double> after = limited(row, own);
  RC_ASSERT(std::abs(std::accumulate(after.begin(), after.end(), 0.0) - 1) < 1e-9);
  for (std::size_t c = 0; c < after.size(); ++c) {
    RC_ASSERT(c == own || after[c] <= 0.25 + 1e-9);
  }
}

}  // namespace
}  // namespace feroma
