#include "feroma/mapping/linkage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/core/rng.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

using Numbers = std::vector<std::size_t>;

Matrix distances_between(const std::vector<double>& points) {
  Matrix distances(points.size(), points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t j = 0; j < points.size(); ++j) {
      distances.at(i, j) = std::abs(points[i] - points[j]);
    }
  }
  return distances;
}

// A chain 0, 1, 2.1, 3.3, 4.6: single linkage follows it, complete linkage does not.
TEST(Linkage, CompleteCutsAChainThatSingleFollows) {
  const Matrix chain = distances_between({0, 1, 2.1, 3.3, 4.6});
  EXPECT_EQ(link_within(chain, Linkage::single, 1.3), (Numbers{0, 0, 0, 0, 0}));
  // {0, 1} at 1, {2.1, 3.3} at 1.2; the next best is 3.3..4.6 of the second with the last: 2.5.
  EXPECT_EQ(link_within(chain, Linkage::complete, 1.3), (Numbers{0, 0, 1, 1, 2}));
  EXPECT_EQ(link_within(chain, Linkage::complete, 2.5), (Numbers{0, 0, 1, 1, 1}));
}

TEST(Linkage, TheCutItselfStillJoins) {
  const Matrix pair = distances_between({0, 0.5});
  EXPECT_EQ(link_within(pair, Linkage::complete, 0.5), (Numbers{0, 0}));
  EXPECT_EQ(link_within(pair, Linkage::complete, 0.49), (Numbers{0, 1}));
}

TEST(Linkage, TwoGroupsAreNumberedByTheirLowestItems) {
  EXPECT_EQ(link_into(distances_between({9, 0, 8.5, 0.2, 9.1}), Linkage::complete, 2), (Numbers{0, 1, 0, 1, 0}));
  EXPECT_EQ(link_into(distances_between({9, 0, 8.5, 0.2, 9.1}), Linkage::single, 2), (Numbers{0, 1, 0, 1, 0}));
}

TEST(Linkage, TiesGoToTheLowestItems) {
  const Matrix same(4, 4, 1.0);
  EXPECT_EQ(link_into(same, Linkage::complete, 3), (Numbers{0, 0, 1, 2}));
  EXPECT_EQ(link_into(same, Linkage::complete, 2), (Numbers{0, 0, 0, 1}));
}

TEST(Linkage, FewItemsStayAsTheyAre) {
  EXPECT_EQ(link_into(distances_between({1, 2}), Linkage::complete, 2), (Numbers{0, 1}));
  EXPECT_EQ(link_into(distances_between({1}), Linkage::complete, 2), (Numbers{0}));
  EXPECT_TRUE(link_within(Matrix(), Linkage::single, 1).empty());
}

TEST(Linkage, RefusesWhatIsNoDistance) {
  Matrix broken(2, 2);
  broken.at(0, 1) = std::numeric_limits<double>::quiet_NaN();
  expect_error(ErrorCode::internal, "must be numbers", [&] { return link_within(broken, Linkage::single, 1); });
  expect_error(ErrorCode::internal, "square", [&] { return link_within(Matrix(2, 3), Linkage::single, 1); });
  expect_error(ErrorCode::internal, "groups", [&] { return link_into(Matrix(2, 2), Linkage::single, 0); });
}

Matrix random_distances(Rng& rng) {
  const std::size_t count = 1 + rng.below(12);
  Matrix distances(count, count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      // A coarse grid, so that there are ties.
      distances.at(i, j) = distances.at(j, i) = static_cast<double>(rng.below(12)) / 4;
    }
  }
  return distances;
}

/// The textbook way: all pairs of groups, all pairs of their members.
Numbers textbook(const Matrix& distances, Linkage linkage, double cut) {
  std::vector<Numbers> groups;
  for (std::size_t i = 0; i < distances.rows; ++i) {
    groups.push_back({i});
  }
  while (groups.size() > 1) {
    double best = std::numeric_limits<double>::infinity();
    std::size_t low = 0;
    std::size_t high = 0;
    for (std::size_t a = 0; a < groups.size(); ++a) {
      for (std::size_t b = a + 1; b < groups.size(); ++b) {
        double apart = linkage == Linkage::complete ? 0 : std::numeric_limits<double>::infinity();
        for (const std::size_t i : groups[a]) {
          for (const std::size_t j : groups[b]) {
            apart = linkage == Linkage::complete ? std::max(apart, distances.at(i, j))
                                                 : std::min(apart, distances.at(i, j));
          }
        }
        if (apart < best) {
          best = apart;
          low = a;
          high = b;
        }
      }
    }
    if (best > cut) {
      break;
    }
    groups[low].insert(groups[low].end(), groups[high].begin(), groups[high].end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(high));
  }
  Numbers numbers(distances.rows);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::size_t i : groups[g]) {
      numbers[i] = g;
    }
  }
  return numbers;
}

RC_GTEST_PROP(Linkage, DoesWhatTheTextbookSays, (std::uint16_t seed)) {
  Rng rng(seed);
  const Matrix distances = random_distances(rng);
  const double cut = rng.uniform(0, 3);
  RC_ASSERT(link_within(distances, Linkage::complete, cut) == textbook(distances, Linkage::complete, cut));
  RC_ASSERT(link_within(distances, Linkage::single, cut) == textbook(distances, Linkage::single, cut));
}

RC_GTEST_PROP(Linkage, NoPairOfACompleteGroupIsFartherThanTheCut, (std::uint16_t seed)) {
  Rng rng(seed);
  const Matrix distances = random_distances(rng);
  const Numbers groups = link_within(distances, Linkage::complete, 1.5);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    for (std::size_t j = i + 1; j < groups.size(); ++j) {
      RC_ASSERT(groups[i] != groups[j] || distances.at(i, j) <= 1.5);
    }
  }
}

}  // namespace
}  // namespace feroma
