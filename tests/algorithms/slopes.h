#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "feroma/core/rng.h"

namespace feroma::test {

inline std::vector<float> normal_rows(std::size_t count, std::uint64_t seed, double mean = 0, double deviation = 1) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(mean + deviation * rng.normal());
  }
  return values;
}

/// Compares a gradient with differences of the value at every `stride`-th place.
inline void expect_slopes(const std::vector<float>& at, const std::vector<float>& gradient,
                          const std::function<double(const std::vector<float>&)>& value, double step, double tolerance,
                          std::size_t stride = 1) {
  ASSERT_EQ(gradient.size(), at.size());
  double largest = 0;
  for (const float slope : gradient) {
    largest = std::max(largest, std::abs(static_cast<double>(slope)));
  }
  EXPECT_GT(largest, 0);
  for (std::size_t i = 0; i < at.size(); i += stride) {
    std::vector<float> more = at;
    std::vector<float> less = at;
    more[i] += static_cast<float>(step);
    less[i] -= static_cast<float>(step);
    const double apart = static_cast<double>(more[i]) - static_cast<double>(less[i]);
    EXPECT_NEAR(static_cast<double>(gradient[i]), (value(more) - value(less)) / apart, tolerance * largest) << i;
  }
}

}  // namespace feroma::test
