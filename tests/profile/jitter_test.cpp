#include "feroma/profile/jitter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "feroma/profile/scaler.h"

namespace feroma {
namespace {

const ProfileShape kShape{2, 1, 3, true};

/// 100 samples; the third class is absent.
Profile example() {
  Profile profile;
  profile.marginal = {{1, 2}, {0.5F, 3}};
  profile.per_class = {{{4}, {1}}, {{5}, {2}}, {{-1}, {-1}}};
  profile.prior = {0.25F, 0.75F, 0};
  profile.num_samples = 100;
  return profile;
}

TEST(Jitter, MovesEveryCoordinateByItsSamplingNoise) {
  const Profile profile = example();
  const Signature stated = signature_of(profile, kShape, false);
  const std::size_t moving = kShape.size() - 3;  // the shares are brought back to a sum of 1 afterwards
  std::vector<double> sum(moving);
  std::vector<double> squares(moving);
  constexpr int draws = 20000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const std::vector<float> values = encode(jittered(profile, kShape, Rng(1).derive("draw", i)), kShape);
    for (std::size_t c = 0; c < moving; ++c) {
      const double moved = static_cast<double>(values[c]) - stated.values[c];
      sum[c] += moved / draws;
      squares[c] += moved * moved / draws;
    }
  }
  for (std::size_t c = 0; c < moving; ++c) {
    const double noise = std::max(stated.noise[c], 0.0);
    EXPECT_NEAR(sum[c], 0, 5 * std::sqrt(noise / draws)) << c;
    EXPECT_NEAR(squares[c], noise, 5 * noise * std::sqrt(2.0 / draws)) << c;
  }
}

TEST(Jitter, LeavesAbsentClassesAlone) {
  const Profile moved = jittered(example(), kShape, Rng(2));
  EXPECT_EQ(moved.per_class[2], example().per_class[2]);
  EXPECT_EQ(moved.prior[2], 0);
  EXPECT_NE(moved.per_class[1], example().per_class[1]);
  EXPECT_EQ(moved.num_samples, 100);
}

TEST(Jitter, KeepsClassesPresentSharesWholeAndSpreadsPositive) {
  Profile profile = example();
  profile.num_samples = 8;
  profile.prior = {0.375F, 0.625F, 0};  // three and five samples: the noise is as large as the shares
  const Signature before = signature_of(profile, kShape, false);
  int touched = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const Profile moved = jittered(profile, kShape, Rng(3).derive("draw", i));
    EXPECT_NEAR(std::accumulate(moved.prior.begin(), moved.prior.end(), 0.0), 1, 1e-6);
    for (const float share : moved.prior) {
      EXPECT_GE(share, 0);
      EXPECT_LE(share, 1);
    }
    for (const Moments& moments : {moved.marginal, moved.per_class[0], moved.per_class[1]}) {
      for (const float std : moments.std) {
        EXPECT_GE(std, 0);
        touched += std == 0 ? 1 : 0;
      }
    }
    const Signature after = signature_of(moved, kShape, false);
    for (std::size_t c = 0; c < before.noise.size(); ++c) {
      EXPECT_EQ(before.noise[c] < 0, after.noise[c] < 0) << c;
    }
  }
  EXPECT_GT(touched, 0) << "a spread never met its bound: the test tests nothing";
}

TEST(Jitter, SharesOfSeveralLabelsStandAlone) {
  Profile profile = example();
  profile.prior = {0.9F, 0.8F, 0.5F};
  double sum = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const Profile moved = jittered(profile, kShape, Rng(4).derive("draw", i));
    sum += std::accumulate(moved.prior.begin(), moved.prior.end(), 0.0) / 1000;
    EXPECT_LE(moved.prior[0], 1);
  }
  EXPECT_NEAR(sum, 2.2, 0.02);
}

TEST(Jitter, WithoutSharesOnTheWireKeepsThem) {
  ProfileShape shape = kShape;
  shape.priors = false;
  EXPECT_EQ(jittered(example(), shape, Rng(5)).prior, example().prior);
}

TEST(Jitter, IsTheSameForTheSameStreamOnly) {
  EXPECT_EQ(jittered(example(), kShape, Rng(6)), jittered(example(), kShape, Rng(6)));
  EXPECT_NE(jittered(example(), kShape, Rng(6)), jittered(example(), kShape, Rng(7)));
}

}  // namespace
}  // namespace feroma
