#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/view.h"

namespace feroma::test {

inline std::vector<float> normal_rows(std::size_t count, std::uint64_t seed, double mean = 0, double deviation = 1) {
  Rng rng(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(mean + deviation * rng.normal());
  }
  return values;
}

inline double largest_of(const std::vector<float>& gradient) {
  double largest = 0;
  for (const float slope : gradient) {
    largest = std::max(largest, std::abs(static_cast<double>(slope)));
  }
  return largest;
}

/// Compares a gradient with differences of the value at every `stride`-th place.
inline void expect_slopes(const std::vector<float>& at, const std::vector<float>& gradient,
                          const std::function<double(const std::vector<float>&)>& value, double step, double tolerance,
                          std::size_t stride = 1) {
  ASSERT_EQ(gradient.size(), at.size());
  const double largest = largest_of(gradient);
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

// The product's gradients are in single precision. Where the value can be had in double precision apart from it, the
// rounding of differences is far below the tolerance, and what differs is the formula.

inline std::vector<double> doubles(std::span<const float> values) { return {values.begin(), values.end()}; }

inline double exact_slope(const std::function<double(double)>& value, double at) {
  constexpr double kStep = 1e-5;
  return (value(at + kStep) - value(at - kStep)) / (2 * kStep);
}

/// The toy model's mean cross-entropy; behind the weights of all classes lie their offsets.
inline double exact_loss(std::span<const double> params, const Batch& batch) {
  const auto size = static_cast<std::size_t>(batch.size);
  const std::size_t width = batch.inputs.size() / size;
  const std::size_t classes = params.size() / (width + 1);
  const std::span<const double> offsets = params.last(classes);
  double loss = 0;
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<double> logits(offsets.begin(), offsets.end());
    for (std::size_t u = 0; u < classes; ++u) {
      for (std::size_t c = 0; c < width; ++c) {
        logits[u] += params[u * width + c] * static_cast<double>(batch.inputs[i * width + c]);
      }
    }
    const double top = *std::max_element(logits.begin(), logits.end());
    double total = 0;
    for (const double logit : logits) {
      total += std::exp(logit - top);
    }
    loss += std::log(total) + top - logits[static_cast<std::size_t>(batch.labels[i])];
  }
  return loss / static_cast<double>(size);
}

/// Compares a gradient with slopes of the value in double precision, relative to its largest entry.
inline void expect_exact_slopes(const std::vector<float>& at, const std::vector<float>& gradient,
                                const std::function<double(const std::vector<double>&)>& value) {
  ASSERT_EQ(gradient.size(), at.size());
  const double largest = largest_of(gradient);
  EXPECT_GT(largest, 0);
  for (std::size_t i = 0; i < at.size(); ++i) {
    std::vector<double> point = doubles(at);
    const auto along = [&](double x) {
      point[i] = x;
      return value(point);
    };
    EXPECT_NEAR(static_cast<double>(gradient[i]), exact_slope(along, static_cast<double>(at[i])), 1e-5 * largest) << i;
  }
}

}  // namespace feroma::test
