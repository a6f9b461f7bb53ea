#include "feroma/models/parameters.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/expect_error.h"

namespace feroma {
namespace {

std::shared_ptr<const ParamLayout> two_segments() {
  auto layout = std::make_shared<ParamLayout>();
  layout->add("a.weight", SegmentKind::weight, {2, 3});
  layout->add("a.bias", SegmentKind::bias, {2});
  return layout;
}

TEST(ParamLayout, PlacesSegmentsBackToBack) {
  const auto layout = two_segments();
  EXPECT_EQ(layout->size, 8U);
  EXPECT_EQ(layout->segments[1].offset, 6U);
  EXPECT_EQ(layout->segments[1].size, 2U);
}

TEST(ParamLayout, RefusesAnEmptyExtent) {
  ParamLayout layout;
  expect_error(ErrorCode::internal, "a.weight must be >= 1, got 0", [&] {
    layout.add("a.weight", SegmentKind::weight, {2, 0});
  });
}

TEST(Parameters, StartAtZero) {
  const Parameters params(two_segments());
  EXPECT_EQ(params.size(), 8U);
  for (const float value : params.values()) {
    EXPECT_EQ(value, 0.0F);
  }
}

TEST(Parameters, SegmentIsAWindowOfTheBuffer) {
  Parameters params(two_segments());
  params.segment(1)[0] = 5.0F;
  EXPECT_EQ(params.values()[6], 5.0F);
  EXPECT_EQ(params.segment(1).size(), 2U);
}

TEST(Parameters, SegmentOutOfRangeIsAnError) {
  Parameters params(two_segments());
  expect_error(ErrorCode::internal, "2 segments, got index 2", [&] { return params.segment(2); });
  Parameters none;
  expect_error(ErrorCode::internal, "0 segments", [&] { return none.segment(0); });
}

TEST(Parameters, CloneSharesTheLayoutButNotTheValues) {
  Parameters params(two_segments());
  Parameters copy = params.clone();
  copy.values()[0] = 1.0F;
  EXPECT_EQ(params.values()[0], 0.0F);
  EXPECT_EQ(copy.shared_layout(), params.shared_layout());
}

TEST(Parameters, AllFiniteFindsOneBadValue) {
  Parameters params(two_segments());
  EXPECT_TRUE(params.all_finite());
  params.values()[7] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(params.all_finite());
  params.values()[7] = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(params.all_finite());
}

}  // namespace
}  // namespace feroma
