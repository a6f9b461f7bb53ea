#include "feroma/drift/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace feroma {
namespace {

constexpr int kClasses = 3;

/// 60 samples: label 0 on every third, label 1 on every fifth, label 2 never, nothing on many.
Samples several_labels() {
  Samples samples;
  samples.shape = {1, 1, 1};
  samples.pixels.assign(60, 0);
  samples.labels.assign(60, 0);
  for (int i = 0; i < 60; ++i) {
    samples.targets.insert(samples.targets.end(), {static_cast<std::uint8_t>(i % 3 == 0 ? 1 : 0),
                                                   static_cast<std::uint8_t>(i % 5 == 0 ? 1 : 0), 0});
  }
  return samples;
}

TEST(FewLabels, OfSeveralPerSampleCoverEveryLabelAndNothing) {
  const Samples samples = several_labels();
  const Shares shares(60, 2, 0, Rng(1));
  const std::vector<std::uint32_t> share = shares.of(0);
  const auto chosen = few_label_sources(
      samples, shares, share, kClasses, 2, [](std::uint32_t) { return true; }, Rng(2));
  std::array<int, 3> counts{};  // label 0, label 1, nothing
  for (const std::uint32_t source : chosen) {
    EXPECT_EQ(std::count(share.begin(), share.end(), source), 0) << "the client's own samples are not for choosing";
    counts[0] += source % 3 == 0 ? 1 : 0;
    counts[1] += source % 5 == 0 ? 1 : 0;
    counts[2] += source % 3 != 0 && source % 5 != 0 ? 1 : 0;
  }
  EXPECT_GE(counts[0], 2);
  EXPECT_GE(counts[1], 2);
  EXPECT_EQ(counts[2], 2);
  EXPECT_LE(chosen.size(), 6U);
}

}  // namespace
}  // namespace feroma
