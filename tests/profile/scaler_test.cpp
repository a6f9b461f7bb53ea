#include "feroma/profile/scaler.h"

#include <gtest/gtest.h>

#include <cmath>

namespace feroma {
namespace {

TEST(BlockScaler, MapsEachBlockToTheUnitInterval) {
  const ProfileShape shape{2, 1, 1, false};  // blocks: 2 means, 2 stds, class mean, class std
  const std::vector<std::vector<float>> fit{{0, 4, 1, 1, 10, 5}, {2, 1, 3, 2, 20, 5}};
  const BlockScaler scaler = fit_block_scaler(fit, shape);
  EXPECT_EQ(scale(scaler, fit[0]), (std::vector<double>{0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(scale(scaler, fit[1]), (std::vector<double>{0.5, 0.25, 1, 0.5, 1, 0}));
}

TEST(BlockScaler, ConstantBlockKeepsRawSize) {
  const ProfileShape shape{1, 1, 1, false};
  const BlockScaler scaler = fit_block_scaler(std::vector<std::vector<float>>{{0, 0, -1, -1}, {1, 1, -1, -1}}, shape);
  EXPECT_EQ(scale(scaler, std::vector<float>{0, 0, 6, -1})[2], 7);  // the reference implementation's offset
}

TEST(BlockScaler, ScalesALabelFreePrefixAlone) {
  const ProfileShape shape{1, 1, 1, false};
  const BlockScaler scaler = fit_block_scaler(std::vector<std::vector<float>>{{0, 0, 0, 0}, {2, 4, 1, 1}}, shape);
  EXPECT_EQ(scale(scaler, std::vector<float>{1, 1}), (std::vector<double>{0.5, 0.25}));
}

TEST(BlockScaler, WithoutBlocksIsTheIdentity) {
  EXPECT_EQ(scale({}, std::vector<float>{3, -2}), (std::vector<double>{3, -2}));
}

TEST(Signature, AbsentClassHasNoNoise) {
  Profile profile;
  profile.marginal = {{1}, {2}};
  profile.per_class = {{{3}, {4}}, {{0}, {0}}};
  profile.prior = {1, 0};
  profile.num_samples = 100;
  const ProfileShape shape{1, 1, 2, true};
  const Signature signature = signature_of(profile, shape, false);
  ASSERT_EQ(signature.values.size(), shape.size());
  EXPECT_DOUBLE_EQ(signature.noise[0], 4.0 / 100);  // variance of the mean: std^2 / n
  EXPECT_LT(signature.noise[4], 0);
  EXPECT_LT(signature.noise[5], 0);
  EXPECT_EQ(signature_of(profile, shape, true).values.size(), shape.label_free_size());
}

TEST(Reliability, IsZeroForPureNoiseAndNearOneForSignal) {
  std::vector<Signature> signatures;
  for (int i = 0; i < 20; ++i) {
    const double group = i % 2 == 0 ? 0.0 : 1.0;                    // real difference between clients
    const double wiggle = 0.01 * std::sin(static_cast<double>(i));  // within its declared noise
    signatures.push_back({{group, wiggle}, {1e-4, 1e-4}});
  }
  const Reliability reliability = fit_reliability(signatures);
  EXPECT_GT(reliability.share[0], 0.99);
  EXPECT_EQ(reliability.share[1], 0);
}

TEST(Reliability, IgnoresAbsentCoordinates) {
  const std::vector<Signature> signatures{{{1}, {-1}}, {{100}, {-1}}};
  EXPECT_EQ(fit_reliability(signatures).share[0], 0);
}

}  // namespace
}  // namespace feroma
