#include "feroma/profile/profile.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr int kClasses = 4;

Rows random_rows(Rng& rng, std::size_t count, int width) {
  Rows rows{width, {}};
  for (std::size_t i = 0; i < count * static_cast<std::size_t>(width); ++i) {
    rows.values.push_back(static_cast<float>(rng.normal()));
  }
  return rows;
}

std::vector<std::int32_t> random_labels(Rng& rng, std::size_t count) {
  std::vector<std::int32_t> labels(count);
  for (auto& label : labels) {
    label = static_cast<std::int32_t>(rng.below(kClasses));
  }
  return labels;
}

TEST(Profile, LengthIsTwoMomentsPerBlock) {
  EXPECT_EQ((ProfileShape{10, 10, 10, false}.size()), 220U);       // 2 l (1 + U)
  EXPECT_EQ((ProfileShape{10, 10, 100, false}.size()), 2020U);     // the paper, 100 classes
  EXPECT_EQ((ProfileShape{100, 100, 100, false}.size()), 20200U);  // the reference implementation, 100 classes
  EXPECT_EQ((ProfileShape{400, 10, 10, true}.size()), 1010U);
}

RC_GTEST_PROP(Profile, LabelFreePrefixIgnoresLabels, (std::uint16_t seed)) {
  Rng rng(seed);
  const Rows rows = random_rows(rng, 50, 3);
  std::vector<std::int32_t> labels = random_labels(rng, 50);
  const ProfileShape shape{3, 3, kClasses, true};
  for (const Subsampling sub : {Subsampling::off, Subsampling::halves, Subsampling::bernoulli}) {
    const ProfileRule rule{sub, 3, MissingClass::mask};
    const auto with = encode(make_profile(rows, rows, {labels}, kClasses, rule, Rng(7)), shape);
    const auto without = encode(make_profile(rows, rows, {}, kClasses, rule, Rng(7)), shape);
    rng.shuffle(std::span(labels));
    const auto shuffled = encode(make_profile(rows, rows, {labels}, kClasses, rule, Rng(7)), shape);
    for (std::size_t i = 0; i < shape.label_free_size(); ++i) {
      RC_ASSERT(with[i] == without[i]);
      RC_ASSERT(with[i] == shuffled[i]);
    }
  }
}

RC_GTEST_PROP(Profile, RelabellingPermutesClassBlocksExactly, (std::uint16_t seed)) {
  Rng rng(seed);
  const Rows rows = random_rows(rng, 60, 2);
  const std::vector<std::int32_t> labels = random_labels(rng, 60);
  std::vector<std::int32_t> rotated = labels;
  for (auto& label : rotated) {
    label = (label + 1) % kClasses;
  }
  const Profile a = make_profile(rows, rows, {labels}, kClasses, {}, Rng(1));
  const Profile b = make_profile(rows, rows, {rotated}, kClasses, {}, Rng(1));
  for (std::size_t u = 0; u < kClasses; ++u) {
    RC_ASSERT(a.per_class[u] == b.per_class[(u + 1) % kClasses]);
    RC_ASSERT(a.prior[u] == b.prior[(u + 1) % kClasses]);
  }
}

TEST(Profile, ClassWithOneSampleIsMissing) {
  const Rows rows{1, {1, 2, 3}};
  const std::vector<std::int32_t> labels{0, 0, 1};
  const Profile minus = make_profile(rows, rows, {labels}, 3, {Subsampling::off, 3, MissingClass::minus_one}, Rng(1));
  EXPECT_EQ(minus.per_class[1].mean[0], -1);
  EXPECT_EQ(minus.per_class[1].std[0], -1);
  EXPECT_EQ(minus.per_class[2].mean[0], -1);
  EXPECT_FLOAT_EQ(minus.per_class[0].mean[0], 1.5F);
  const Profile mask = make_profile(rows, rows, {labels}, 3, {}, Rng(1));
  EXPECT_EQ(mask.prior, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(mask.per_class[1].mean[0], 0);
}

TEST(Profile, OneSampleIsAClassWhereItCountsAsOne) {
  const Rows rows{1, {1, 2, 3}};
  const std::vector<std::int32_t> labels{0, 0, 1};
  const ProfileRule rule{.missing = MissingClass::minus_one, .least_samples = 1};
  const Profile profile = make_profile(rows, rows, {labels}, 3, rule, Rng(1));
  EXPECT_EQ(profile.per_class[1], (Moments{{3}, {0}}));
  EXPECT_EQ(profile.per_class[2].mean[0], -1);
  EXPECT_FLOAT_EQ(profile.prior[1], 1.0F / 3);
}

TEST(Profile, ZerosStandForAMissingClass) {
  const Rows rows{1, {1, 2}};
  const std::vector<std::int32_t> labels{0, 0};
  const Profile profile = make_profile(rows, rows, {labels}, 2, {.missing = MissingClass::zero}, Rng(1));
  EXPECT_EQ(profile.per_class[1], (Moments{{0}, {0}}));
}

TEST(Profile, SpreadsAreVariancesWhereThatIsAskedFor) {
  Rng rng(5);
  const Rows rows = random_rows(rng, 21, 2);
  const std::vector<std::int32_t> labels(21, 0);
  const Profile deviations = make_profile(rows, rows, {labels}, 1, {}, Rng(1));
  const Profile variances = make_profile(rows, rows, {labels}, 1, {.spread = SpreadKind::variance}, Rng(1));
  EXPECT_EQ(variances.marginal.mean, deviations.marginal.mean);
  for (std::size_t c = 0; c < 2; ++c) {
    EXPECT_NEAR(variances.marginal.std[c], deviations.marginal.std[c] * deviations.marginal.std[c], 1e-6);
    EXPECT_NEAR(variances.per_class[0].std[c], variances.marginal.std[c], 1e-6);
  }
}

// Masks of deviations are averaged as deviations, masks of variances as variances.
TEST(Profile, VariancesOfMasksAreAveraged) {
  const Rows rows{1, {0, 1, 5, 9}};
  const ProfileRule rule{.subsampling = Subsampling::bernoulli, .replicates = 2, .spread = SpreadKind::variance};
  Rng draws(3);
  double expected = 0;
  for (int m = 0; m < 2; ++m) {
    std::vector<std::uint32_t> mask;
    for (std::uint32_t i = 0; i < 4; ++i) {
      if (draws.bernoulli(0.5)) {
        mask.push_back(i);
      }
    }
    ASSERT_FALSE(mask.empty());
    expected += static_cast<double>(moments_of(rows, mask, SpreadKind::variance).std[0]) / 2;
  }
  EXPECT_FLOAT_EQ(make_profile(rows, rows, {}, 1, rule, Rng(3)).marginal.std[0], static_cast<float>(expected));
}

TEST(Profile, HalvesArePooledIntoOneListOfRows) {
  Rng rng(5);
  const Rows rows = random_rows(rng, 21, 1);
  Rng draws(1);
  std::vector<std::uint32_t> pooled;
  for (int m = 0; m < 4; ++m) {
    const auto half = draws.sample(21, 10);
    pooled.insert(pooled.end(), half.begin(), half.end());
  }
  const std::vector<std::int32_t> labels(21, 0);
  const Profile profile = make_profile(rows, rows, {labels}, 1, {Subsampling::halves, 4, MissingClass::mask}, Rng(1));
  EXPECT_EQ(profile.marginal, moments_of(rows, pooled));
  EXPECT_EQ(profile.per_class[0], profile.marginal);  // one class: the same rows
  EXPECT_EQ(profile.num_samples, 21);                 // rows it knows, however often it drew them
}

TEST(Profile, BernoulliAveragesTheMomentsOfItsMasks) {
  Rng rng(5);
  const Rows rows = random_rows(rng, 21, 1);
  Rng draws(1);
  std::vector<Moments> masks;
  for (int m = 0; m < 4; ++m) {
    std::vector<std::uint32_t> mask;
    for (std::uint32_t i = 0; i < 21; ++i) {
      if (draws.bernoulli(0.5)) {
        mask.push_back(i);
      }
    }
    masks.push_back(moments_of(rows, mask));
  }
  const std::vector<std::int32_t> labels(21, 0);
  const Profile profile =
      make_profile(rows, rows, {labels}, 1, {Subsampling::bernoulli, 4, MissingClass::mask}, Rng(1));
  EXPECT_EQ(profile.marginal, average(masks));
  EXPECT_EQ(profile.per_class[0], profile.marginal);
  EXPECT_EQ(profile.num_samples, 21);
}

TEST(Profile, AnEmptyMaskDoesNotCount) {
  const Rows rows{1, {5}};
  const Profile profile = make_profile(rows, rows, {}, 1, {Subsampling::bernoulli, 30, MissingClass::mask}, Rng(1));
  EXPECT_EQ(profile.marginal.mean[0], 5);
}

TEST(Profile, OfOneSampleThatNoMaskHasIsOfThatSample) {
  const Rows rows{1, {5}};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {  // with one mask, half of them have nothing
    const Profile profile = make_profile(rows, rows, {}, 1, {Subsampling::bernoulli, 1, MissingClass::mask}, Rng(seed));
    EXPECT_EQ(profile.marginal.mean[0], 5);
  }
}

TEST(Profile, OfOneSampleHasNoHalves) {
  const Rows rows{1, {5}};
  EXPECT_THROW((void)make_profile(rows, rows, {}, 1, {Subsampling::halves, 3, MissingClass::mask}, Rng(1)), Error);
}

TEST(Profile, LabelFreeAndClassBlocksMaySeeDifferentCoordinates) {
  const Rows wide{2, {1, 10, 3, 30}};
  const Rows narrow{1, {4, 6}};
  const ProfileRule rule{Subsampling::off, 3, MissingClass::minus_one};
  const Profile labelled = make_profile(wide, narrow, {std::vector<std::int32_t>{0, 0}}, 1, rule, Rng(1));
  EXPECT_EQ(labelled.marginal.mean, (std::vector<float>{2, 20}));
  EXPECT_EQ(labelled.per_class[0].mean, (std::vector<float>{5}));
  const Profile unlabelled = make_profile(wide, narrow, {}, 1, rule, Rng(1));
  EXPECT_EQ(unlabelled.marginal, labelled.marginal);
  EXPECT_EQ(unlabelled.per_class[0], (Moments{{-1}, {-1}}));
}

TEST(Profile, ARowOfMultiLabelDataCountsForEveryLabelItHas) {
  const Rows rows{1, {1, 3, 5, 7}};
  const std::vector<float> targets{1, 0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
  const Profile profile = make_profile(rows, rows, {.targets = targets}, 3, {}, Rng(1));
  EXPECT_EQ(profile.per_class[0].mean, (std::vector<float>{(1 + 3 + 7) / 3.0F}));
  EXPECT_EQ(profile.per_class[1].mean, (std::vector<float>{4}));
  EXPECT_EQ(profile.per_class[2], (Moments{{0}, {0}}));
  EXPECT_EQ(profile.prior, (std::vector<float>{0.75F, 0.5F, 0.0F}));
  EXPECT_EQ(profile.marginal, make_profile(rows, rows, {}, 3, {}, Rng(1)).marginal);
  EXPECT_THROW((void)make_profile(rows, rows, {.targets = std::span(targets).first(11)}, 3, {}, Rng(1)), Error);
}

TEST(Profile, EncodesInPaperOrderAndDecodesBack) {
  Profile profile;
  profile.marginal = {{1, 2}, {3, 4}};
  profile.per_class = {{{5}, {6}}, {{7}, {8}}};
  profile.prior = {0.25F, 0.75F};
  profile.num_samples = 9;
  const ProfileShape shape{2, 1, 2, true};
  EXPECT_EQ(encode(profile, shape), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0.25F, 0.75F}));
  EXPECT_EQ(decode(encode(profile, shape), shape, 9), profile);
}

TEST(Profile, DecodeRefusesWrongLengthAndNonFiniteValues) {
  const ProfileShape shape{1, 1, 1, false};
  EXPECT_THROW((void)decode(std::vector<float>(3), shape, 1), Error);
  std::vector<float> values(4);
  values[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW((void)decode(values, shape, 1), Error);
}

TEST(Profile, OfNoSamplesIsAnError) { EXPECT_THROW((void)make_profile({2, {}}, {2, {}}, {}, 2, {}, Rng(1)), Error); }

}  // namespace
}  // namespace feroma
