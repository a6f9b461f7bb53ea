#include "feroma/data/scale.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feroma {
namespace {

// Channel 0 has the bytes 0, 0, 51, 51 (0 and 0.2): mean 0.1, standard deviation 0.1. Channel 1 does not vary.
TEST(StandardScales, OfBytesPerChannel) {
  Samples samples;
  samples.shape = {2, 1, 2};
  samples.pixels = {0, 51, 255, 255, 51, 0, 255, 255};
  samples.labels = {0, 0};
  const std::vector<InputScale> scales = standard_scales(samples);
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_FLOAT_EQ(scales[0].factor, 10.0F);
  EXPECT_FLOAT_EQ(scales[0].offset, -1.0F);
  EXPECT_EQ(scales[1], (InputScale{1.0F, -1.0F}));
}

TEST(StandardScales, OfNumbersPerChannel) {
  Samples samples;
  samples.shape = {2, 1, 1};
  samples.values = {998, 7, 1002, 7};
  samples.labels = {0, 0};
  const std::vector<InputScale> scales = standard_scales(samples);
  ASSERT_EQ(scales.size(), 2U);
  EXPECT_FLOAT_EQ(scales[0].factor, 0.5F);
  EXPECT_FLOAT_EQ(scales[0].offset, -500.0F);
  EXPECT_EQ(scales[1], (InputScale{1.0F, -7.0F}));
}

}  // namespace
}  // namespace feroma
