#include "feroma/data/scale.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/core/expect_error.h"

namespace feroma {
namespace {

constexpr SampleShape kThreeColumns{1, 1, 3};
constexpr SampleShape kNineSignals{9, 1, 128};

TEST(InputScales, ATableHasOnePerColumnAndEverythingElseOnePerChannel) {
  EXPECT_EQ(scale_count(kThreeColumns), 3U);
  EXPECT_EQ(scale_count(kNineSignals), 9U);
  EXPECT_EQ(scale_count({3, 32, 32}), 3U);
  EXPECT_EQ(scale_count({1, 28, 28}), 1U);
}

TEST(InputScales, ComeBackFromTheirNumbers) {
  const InputScales scales{{0.1F, -3.0F}, {1e-7F, 0.0F}, {1.0F, 1.0F / 3.0F}};
  EXPECT_EQ(scales_from(numbers_of(scales), kThreeColumns, "test"), scales);
}

TEST(InputScales, WhatIsNoneIsRefusedByName) {
  const auto error = [](std::vector<float> numbers) {
    return test::error_of(ErrorCode::invalid_data,
                          [&] { static_cast<void>(scales_from(numbers, kThreeColumns, "the file")); });
  };
  EXPECT_TRUE(test::holds(error({}), "the file: has no scale of the inputs"));
  EXPECT_TRUE(test::holds(error({1, 0}), "for each of 3 inputs, got 2 numbers"));
  EXPECT_TRUE(test::holds(error({1, 0, 0, 0, 1, 0}), "input 1 must have a factor above 0"));
  EXPECT_TRUE(test::holds(error({1, 0, -1, 0, 1, 0}), "input 1"));
  EXPECT_TRUE(test::holds(error({1, 0, 1, 0, 1, std::numeric_limits<float>::infinity()}), "input 2"));
  EXPECT_TRUE(test::holds(error({1, 0, 1, 0, std::numeric_limits<float>::quiet_NaN(), 0}), "input 2"));
}

}  // namespace
}  // namespace feroma
