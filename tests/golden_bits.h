#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>

#include "feroma/core/files.h"
#include "feroma/core/options.h"
#include "tests/golden_support.h"
#include "tests/only_simd.h"
#include "tests/places.h"

namespace feroma {

/// Runs once per instruction set and skips, loudly, those that this machine lacks.
class OnEverySimdTarget : public testing::TestWithParam<SimdTarget> {
 protected:
  void SetUp() override {
    const std::vector<SimdTarget> here = simd_targets();
    if (std::find(here.begin(), here.end(), GetParam()) == here.end()) {
      GTEST_SKIP() << "this machine has no " << name_of(GetParam()) << ": its bits are NOT checked";
    }
  }
  /// Whether the target must give everybody's bits.
  static bool has_fused_products() { return feroma::has_fused_products(GetParam()); }
  /// Two roundings give nearly the same, and other bits: the choice has reached the kernels.
  static void expect_rounded_otherwise(std::span<const float> values, std::span<const float> best, double tolerance) {
    const double difference = largest_difference(values, best);
    EXPECT_LT(difference, tolerance);
    EXPECT_EQ(difference > 0, feroma::has_fused_products(simd_targets().front()));
  }
};

inline auto every_simd_target() {
  using enum SimdTarget;
  return testing::Values(avx512, avx2, neon, sse4, scalar);
}
inline std::string simd_test_name(const testing::TestParamInfo<SimdTarget>& tested) {
  return std::string(name_of(tested.param));
}

/// Compares with the checksum under `name` in tests/golden/native_bits.txt.
inline void expect_golden_bits(const std::string& name, std::span<const std::byte> bytes) {
  std::ifstream file(test::golden_file("native_bits.txt"));
  std::string key;
  std::string digest;
  while (file >> key >> digest && key != name) {
  }
  EXPECT_EQ(name + " " + sha256(bytes), key + " " + digest);
}
inline void expect_golden_bits(const std::string& name, std::span<const float> values) {
  expect_golden_bits(name, std::as_bytes(values));
}

}  // namespace feroma
