#include "feroma/privacy/clip_bounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "feroma/core/rng.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

const SumShape kBall{.coordinates = 2, .classes = 1};

TEST(ClipBounds, FixedOnesFollowTheProjection) {
  // 1.4 sqrt(10 / 84), and for a box 1.1 / sqrt(10) of it.
  EXPECT_NEAR(fixed_bounds({}, 84).scale[0], 0.483, 5e-4);
  EXPECT_NEAR(fixed_bounds(box_shape(10, 10), 84).scale[0], 0.483 * 1.1 / std::sqrt(10.0), 5e-4);
  EXPECT_EQ(fixed_bounds({}, 84).centre, std::vector<float>(10));
}

TEST(ClipBounds, RecordsAreMeasuredFromTheCentreInUnitsOfTheScale) {
  const ClipBounds bounds{{1.0F, 2.0F}, {2.0F, 4.0F}};
  const std::vector<std::int64_t> sums = sums_of(kBall, bounds, std::vector<float>{2.0F, 3.0F}, {});
  EXPECT_EQ(sums, block_of(kBall, std::vector<float>{0.5F, 0.25F}));
}

TEST(ClipBounds, MoveToWhereRecordsAre) {
  Rng rng(1);
  for (const SumShape& shape : {kBall, box_shape(2, 1)}) {
    const ClipBounds wide{{0.0F, 0.0F}, {4.0F, 4.0F}};
    std::vector<float> rows;
    for (int i = 0; i < 4000; ++i) {
      rows.push_back(static_cast<float>(1.0 + 0.3 * rng.normal()));
      rows.push_back(static_cast<float>(-0.5 + 0.6 * rng.normal()));
    }
    const std::vector<std::vector<std::int64_t>> releases{sums_of(shape, wide, rows, {})};
    const ClipBounds moved = recentred(shape, wide, releases);
    EXPECT_NEAR(moved.centre[0], 1.0, 0.02);
    EXPECT_NEAR(moved.centre[1], -0.5, 0.02);
    if (shape.clip == Clip::ball) {
      EXPECT_NEAR(moved.scale[0], 1.1 * std::sqrt(0.09 + 0.36), 0.02);
      EXPECT_EQ(moved.scale[0], moved.scale[1]);
    } else {
      EXPECT_NEAR(moved.scale[0], 1.5 * 0.3, 0.02);
      EXPECT_NEAR(moved.scale[1], 1.5 * 0.6, 0.02);
    }
  }
}

TEST(ClipBounds, HistogramsHoldEveryRecordOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> rows{3.0F, 4.0F, 0.0F, 0.0F, infinity, 0.0F, 1e30F, 0.0F, 1e-30F, 0.0F};
  const NormHistogram bins = norm_histogram(rows, 2);
  std::int64_t total = 0;
  for (const std::int64_t count : bins) {
    total += count;
  }
  EXPECT_EQ(total, 5);
  EXPECT_EQ(bins[36], 1) << "5 is between 4 and 4 sqrt(2)";
  EXPECT_EQ(bins[0], 3) << "nothing, what is not finite, and what is tiny";
  EXPECT_EQ(bins[63], 1);
}

TEST(ClipBounds, TheQuantileOfNormsIsFound) {
  Rng rng(2);
  std::vector<std::vector<std::int64_t>> histograms;
  for (int client = 0; client < 5; ++client) {
    std::vector<float> rows;
    for (int i = 0; i < 2000; ++i) {
      rows.push_back(static_cast<float>(3.0 * rng.uniform()));
    }
    const NormHistogram bins = norm_histogram(rows, 1);
    histograms.emplace_back(bins.begin(), bins.end());
  }
  EXPECT_NEAR(norm_quantile(histograms, 0.8), 2.4, 0.1);
  EXPECT_NEAR(norm_quantile(histograms, 0.5), 1.5, 0.1);
  EXPECT_EQ(norm_quantile(std::vector<std::vector<std::int64_t>>{std::vector<std::int64_t>(kNormBins, -3)}, 0.8), 1);
}

TEST(ClipBounds, RefuseRowsOfAnotherWidth) {
  expect_error(ErrorCode::internal, "records of 2 coordinates", [] {
    return sums_of(kBall, {{0, 0}, {1, 1}}, std::vector<float>(3), {}).size();
  });
}

}  // namespace
}  // namespace feroma
