#include "algorithms/amplitude_mix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "tests/algorithms/slopes.h"

namespace feroma {
namespace {

using test::normal_rows;

/// The whole transform of one plane, by its definition.
std::vector<std::complex<double>> transform(std::span<const float> plane, int height, int width) {
  std::vector<std::complex<double>> out;
  for (int v = 0; v < height; ++v) {
    for (int u = 0; u < width; ++u) {
      std::complex<double> sum;
      for (int i = 0; i < height * width; ++i) {
        const double turns =
            static_cast<double>(v * (i / width)) / height + static_cast<double>(u * (i % width)) / width;
        sum += static_cast<double>(plane[static_cast<std::size_t>(i)]) * std::polar(1.0, -2 * std::numbers::pi * turns);
      }
      out.push_back(sum);
    }
  }
  return out;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], tolerance) << i;
  }
}

TEST(AmplitudeMix, NothingOfAnybodyLeavesPicturesAsTheyAre) {
  for (const SampleShape shape : {SampleShape{1, 28, 28}, SampleShape{3, 5, 7}, SampleShape{2, 4, 3}}) {
    const std::vector<float> pictures = normal_rows(static_cast<std::size_t>(3 * shape.size()), 1);
    const AmplitudeMix mix(shape);
    const std::vector<std::uint32_t> partners{1, 2, 0};
    expect_near(mix(pictures, partners, std::vector<double>{0, 0, 0}), pictures, 1e-4);
    expect_near(mix(pictures, std::vector<std::uint32_t>{0, 1, 2}, std::vector<double>{1, 0.5, 0.3}), pictures, 1e-4);
  }
}

TEST(AmplitudeMix, MixesAmplitudesAndKeepsPhases) {
  for (const SampleShape shape : {SampleShape{1, 4, 6}, SampleShape{2, 5, 3}}) {
    // One plane with extreme values at the end keeps the others from being cut off.
    const auto size = static_cast<std::size_t>(shape.size());
    std::vector<float> pictures = normal_rows(3 * size, 2);
    pictures[2 * size] = 1000;
    pictures[2 * size + 1] = -1000;
    const std::vector<float> mixed =
        AmplitudeMix(shape)(pictures, std::vector<std::uint32_t>{1, 0, 2}, std::vector<double>{0.3, 1, 0});
    const auto plane = static_cast<std::size_t>(shape.height * shape.width);
    const auto of = [&](const std::vector<float>& all, std::size_t picture, std::size_t channel) {
      return transform(std::span(all).subspan(picture * size + channel * plane, plane), shape.height, shape.width);
    };
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(shape.channels); ++channel) {
      const auto own = of(pictures, 0, channel);
      const auto other = of(pictures, 1, channel);
      const auto first = of(mixed, 0, channel);
      const auto second = of(mixed, 1, channel);
      for (std::size_t i = 0; i < plane; ++i) {
        EXPECT_NEAR(std::abs(first[i]), 0.7 * std::abs(own[i]) + 0.3 * std::abs(other[i]), 1e-3);
        EXPECT_NEAR(std::abs(first[i] / std::abs(first[i]) - own[i] / std::abs(own[i])), 0, 1e-3);
        EXPECT_NEAR(std::abs(second[i]), std::abs(own[i]), 1e-3);
        EXPECT_NEAR(std::abs(second[i] / std::abs(second[i]) - other[i] / std::abs(other[i])), 0, 1e-3);
      }
    }
  }
}

TEST(AmplitudeMix, StaysInTheRangeOfThePicturesAndLivesWithEmptyOnes) {
  std::vector<float> pictures(3 * 16, 0.0F);
  for (std::size_t i = 0; i < 16; ++i) {
    pictures[i] = i % 3 == 0 ? 1.0F : 0.0F;
  }
  const std::vector<float> mixed =
      AmplitudeMix({1, 4, 4})(pictures, std::vector<std::uint32_t>{1, 0, 2}, std::vector<double>{0.5, 0.9, 1});
  for (const float value : mixed) {
    EXPECT_GE(value, 0);
    EXPECT_LE(value, 1);
  }
  EXPECT_GT(*std::max_element(mixed.begin() + 16, mixed.begin() + 32), 0.1F);
}

}  // namespace
}  // namespace feroma
