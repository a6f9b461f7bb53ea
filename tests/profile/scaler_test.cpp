#include "feroma/profile/scaler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/error.h"

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

TEST(BlockScaler, GivesClassSharesABlockOfTheirOwn) {
  const ProfileShape shape{1, 1, 2, true};
  const std::vector<std::vector<float>> fit{{0, 0, 0, 0, 0, 0, 0.25F, 0.75F}, {9, 9, 9, 9, 9, 9, 0.5F, 0.5F}};
  const std::vector<double> scaled = scale(fit_block_scaler(fit, shape), fit[0]);
  EXPECT_EQ(scaled, (std::vector<double>{0, 0, 0, 0, 0, 0, 0, 1}));
}

TEST(BlockScaler, RefusesAProfileOfAnotherLength) {
  const std::vector<std::vector<float>> fit{{0, 0, 0}};
  EXPECT_THROW((void)fit_block_scaler(fit, {1, 1, 1, false}), Error);
}

TEST(Signature, NoiseFollowsFromSpreadAndSamples) {
  Profile profile;
  profile.marginal = {{1}, {2}};
  profile.per_class = {{{3}, {4}}, {{5}, {6}}};
  profile.prior = {0.25F, 0.75F};
  profile.num_samples = 8;  // 2 and 6 per class; two are enough
  const Signature signature = signature_of(profile, {1, 1, 2, true}, false);
  EXPECT_EQ(signature.values, (std::vector<double>{1, 2, 3, 4, 5, 6, 0.25, 0.75}));
  // Means: std^2 / n. Stds: 1.5 times that. Shares: p (1 - p) / n.
  EXPECT_EQ(signature.noise, (std::vector<double>{0.5, 0.75, 8, 12, 6, 9, 0.1875 / 8, 0.1875 / 8}));
}

TEST(Signature, SpreadsOfRareActivationsAreNoisier) {
  Profile profile;
  profile.marginal = {{1, 0.1F}, {2, 2}};
  profile.num_samples = 8;
  ProfileShape shape{2, 1, 0, false};
  const Signature plain = signature_of(profile, shape, true);
  shape.activations = true;
  const Signature activations = signature_of(profile, shape, true);
  EXPECT_EQ(plain.values, activations.values);
  EXPECT_DOUBLE_EQ(plain.noise[3], 0.75);
  EXPECT_DOUBLE_EQ(activations.noise[2], 1.0) << "0.5 (2 / 1)^2 times 4 / 8";
  EXPECT_NEAR(activations.noise[3], 100.0, 1e-4) << "0.5 (2 / 0.1)^2 times 4 / 8";
  EXPECT_EQ(plain.noise[1], activations.noise[1]) << "means are as they were";
}

// Over many draws of a rare activation the stated noise is that of its spread, within a factor.
TEST(Signature, StatesTheNoiseOfARareActivation) {
  Rng rng(1);
  constexpr int kSamples = 400;
  double sum = 0;
  double squares = 0;
  double said = 0;
  constexpr int kDraws = 400;
  for (int draw = 0; draw < kDraws; ++draw) {
    Rows rows{1, {}};
    std::vector<std::uint32_t> all;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      rows.values.push_back(static_cast<float>(rng.uniform() < 0.03 ? 1 + rng.uniform() : 0.0));
      all.push_back(i);
    }
    Profile profile;
    profile.marginal = moments_of(rows, all);
    profile.num_samples = kSamples;
    const double std = static_cast<double>(profile.marginal.std[0]);
    sum += std / kDraws;
    squares += std * std / kDraws;
    said += signature_of(profile, {1, 1, 0, false, true}, true).noise[1] / kDraws;
  }
  const double seen = squares - sum * sum;
  EXPECT_GT(said, 0.5 * seen);
  EXPECT_LT(said, 4 * seen);
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

TEST(Reliability, IsTheShareOfVarianceThatTwiceTheNoiseDoesNotExplain) {
  const std::vector<Signature> three{{{0}, {0.1}}, {{1}, {0.1}}, {{2}, {0.1}}};
  EXPECT_DOUBLE_EQ(fit_reliability(three).variance[0], 1);  // sample variance: 2 / (3 - 1)
  EXPECT_DOUBLE_EQ(fit_reliability(three).share[0], 0.8);   // 1 - 2 * 0.1 / 1
  const std::vector<Signature> two{{{0}, {0.1}}, {{2}, {0.1}}, {{100}, {-1}}};
  EXPECT_DOUBLE_EQ(fit_reliability(two).variance[0], 2);  // the absent one does not count
  EXPECT_DOUBLE_EQ(fit_reliability(two).share[0], 0.9);
}

TEST(Reliability, IgnoresAbsentCoordinates) {
  const std::vector<Signature> signatures{{{1}, {-1}}, {{100}, {-1}}};
  EXPECT_EQ(fit_reliability(signatures).share[0], 0);
}

}  // namespace
}  // namespace feroma
