#include "feroma/mapping/mixing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "feroma/core/rng.h"

namespace feroma {
namespace {

Matrix random_stochastic(Rng& rng, std::size_t rows, std::size_t cols) {
  Matrix matrix(rows, cols);
  for (double& value : matrix.values) {
    value = 0.05 + rng.uniform();
  }
  const std::vector<std::int64_t> ones(cols, 1);
  return weigh_by_counts(matrix, ones);
}

TEST(WeighByCounts, UniformWeightsBecomeSampleShares) {
  const std::vector<std::int64_t> counts{1, 3};
  const Matrix weights = weigh_by_counts(Matrix(2, 2, 0.5), counts);
  EXPECT_EQ(weights.values, (std::vector<double>{0.25, 0.75, 0.25, 0.75}));
}

RC_GTEST_PROP(Sinkhorn, GivesEqualColumnSumsAndUnitRows, (std::uint16_t seed)) {
  Rng rng(seed);
  const std::size_t rows = 2 + rng.below(8);
  const std::size_t cols = 2 + rng.below(8);
  const Matrix balanced = sinkhorn(random_stochastic(rng, rows, cols));
  const double target = static_cast<double>(rows) / static_cast<double>(cols);
  RC_ASSERT(std::abs(column_sums(balanced).min - target) < 1e-6);
  RC_ASSERT(std::abs(column_sums(balanced).max - target) < 1e-6);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = balanced.row(r);
    RC_ASSERT(std::abs(std::accumulate(row.begin(), row.end(), 0.0) - 1) < 1e-12);
  }
}

TEST(Sinkhorn, ASourceNobodyMayUseStaysUnused) {
  Matrix weights(2, 3);
  weights.values = {0.7, 0.3, 0, 0.2, 0.8, 0};
  const Matrix balanced = sinkhorn(weights);
  EXPECT_EQ(balanced.at(0, 2), 0);
  EXPECT_EQ(balanced.at(1, 2), 0);
  EXPECT_NEAR(balanced.at(0, 0) + balanced.at(0, 1), 1, 1e-12);
}

TEST(EffectiveParents, CountsEqualWeightsExactly) {
  EXPECT_DOUBLE_EQ(effective_parents(std::vector<double>{0.25, 0.25, 0.25, 0.25}), 4);
  EXPECT_DOUBLE_EQ(effective_parents(std::vector<double>{1, 0, 0}), 1);
}

TEST(Contraction, IsZeroForFullConsensusAndOneForNone) {
  EXPECT_NEAR(contraction(Matrix(5, 5, 0.2)), 0, 1e-12);
  Matrix identity(4, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    identity.at(i, i) = 1;
  }
  EXPECT_NEAR(contraction(identity), 1, 1e-12);
}

// Every receiver gets the same mixture, however unequal it is: no disagreement is left.
TEST(Contraction, OfIdenticalRowsIsZero) {
  Matrix same(4, 4);
  for (std::size_t r = 0; r < 4; ++r) {
    same.at(r, 0) = 0.7;
    same.at(r, 2) = 0.3;
  }
  EXPECT_NEAR(contraction(same), 0, 1e-12);
}

// (1 - a) I + a J / n keeps a share 1 - a of any disagreement.
TEST(Contraction, OfALazyAverageIsItsLaziness) {
  Matrix lazy(6, 6, 0.3 / 6);
  for (std::size_t i = 0; i < 6; ++i) {
    lazy.at(i, i) += 0.7;
  }
  EXPECT_NEAR(contraction(lazy), 0.7, 1e-9);
}

// Half of oneself and a quarter of each neighbour on a ring of six: eigenvalues 1/2 + cos(2 pi k / 6) / 2.
TEST(Contraction, OfARingIsItsSecondEigenvalue) {
  Matrix ring(6, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    ring.at(i, i) = 0.5;
    ring.at(i, (i + 1) % 6) = 0.25;
    ring.at(i, (i + 5) % 6) = 0.25;
  }
  EXPECT_NEAR(contraction(ring), 0.75, 1e-9);
}

TEST(ColumnSums, ShowUnequalUse) {
  Matrix matrix(2, 2);
  matrix.values = {1, 0, 0.5, 0.5};
  EXPECT_DOUBLE_EQ(column_sums(matrix).max, 1.5);
  EXPECT_DOUBLE_EQ(column_sums(matrix).min, 0.5);
}

}  // namespace
}  // namespace feroma
