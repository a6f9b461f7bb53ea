// The profile pipeline against numbers made by the reference implementation (tests/golden/README.md).
#include <gtest/gtest.h>

#include "feroma/algorithms/extractor.h"
#include "feroma/client/trainer.h"
#include "feroma/mapping/match.h"
#include "feroma/profile/projector.h"
#include "tests/golden_support.h"

namespace feroma {
namespace {

constexpr int kLatents = 400;
constexpr int kDimensions = 10;
constexpr int kClasses = 10;
const ProfileShape kGoldenShape{kDimensions, kDimensions, kClasses, false};

/// The reference order is [mean, std, class means, class stds]; ours keeps a class's mean and std together.
std::vector<double> in_reference_order(std::span<const double> ours) {
  std::vector<double> ordered(ours.begin(), ours.begin() + 2 * kDimensions);
  for (const std::size_t part : {0U, 1U}) {
    for (std::size_t u = 0; u < kClasses; ++u) {
      const auto begin = ours.begin() + static_cast<std::ptrdiff_t>(2 * kDimensions + (2 * u + part) * kDimensions);
      ordered.insert(ordered.end(), begin, begin + kDimensions);
    }
  }
  return ordered;
}

std::vector<double> in_reference_order(const std::vector<float>& ours) {
  return in_reference_order(std::vector<double>(ours.begin(), ours.end()));
}

/// A profile as the reference stores it, in our order.
Profile from_reference_order(std::span<const double> theirs) {
  const auto part = [&](std::size_t begin) {
    const auto slice = theirs.subspan(begin, kDimensions);
    return std::vector<float>(slice.begin(), slice.end());
  };
  Profile profile;
  profile.marginal = {part(0), part(kDimensions)};
  for (std::size_t u = 0; u < kClasses; ++u) {
    profile.per_class.push_back({part(20 + 10 * u), part(120 + 10 * u)});
  }
  profile.prior.assign(kClasses, 0.0F);
  profile.num_samples = 150;
  return profile;
}

std::vector<Profile> golden_profiles(const std::string& name) {
  const std::vector<double> values = golden_doubles(name);
  std::vector<Profile> profiles;
  for (std::size_t k = 0; k < 4; ++k) {
    profiles.push_back(from_reference_order(std::span(values).subspan(220 * k, 220)));
  }
  return profiles;
}

Projector golden_projector() {
  const std::vector<double> axes = golden_doubles("projector_components");
  const std::vector<double> centre = golden_doubles("projector_mean");
  return {kLatents, kDimensions, {axes.begin(), axes.end()}, {centre.begin(), centre.end()}};
}

void expect_near(std::span<const double> ours, std::span<const double> theirs, double tolerance) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], tolerance) << "at " << i;
  }
}

// Both are SVDs in double; the points are stored in double and cast to float here, which moves the axes by about 1e-6.
TEST(Golden, PcaOfTheReferencePointsGivesTheReferenceAxes) {
  const std::vector<double> points = golden_doubles("projector_points");
  const Projector ours = pca_projector({kLatents, {points.begin(), points.end()}}, kDimensions);
  const Projector theirs = golden_projector();
  for (std::size_t i = 0; i < ours.components.size(); ++i) {
    EXPECT_NEAR(ours.components[i], theirs.components[i], 2e-5) << "at " << i;
  }
  for (std::size_t i = 0; i < ours.centre.size(); ++i) {
    EXPECT_NEAR(ours.centre[i], theirs.centre[i], 1e-6);
  }
}

class GoldenProfile : public testing::TestWithParam<EngineKind> {
 protected:
  void SetUp() override {
    if (!engine_available(GetParam())) {
      GTEST_SKIP() << "this build has no libtorch: its profiles are NOT compared with the reference";
    }
  }

  static Profile profile_without(std::span<const std::int32_t> removed) {
    const ModelSpec spec = lenet5({3, 28, 28}, kClasses);
    const std::unique_ptr<Engine> engine = make_engine(GetParam(), spec);
    Trainer trainer(*engine);
    View view = golden_batch_view();
    std::vector<ViewItem> kept;
    for (std::size_t i = 0; i < view.size(); ++i) {
      if (std::find(removed.begin(), removed.end(), view.label(i)) == removed.end()) {
        kept.push_back(view.items[i]);
      }
    }
    view.items = std::move(kept);
    const FeromaOptions options = feroma_preset("reference");
    const Extractor extractor{share(formula_parameters(spec)), golden_projector()};
    const EncodedSamples samples = encode_samples(options, extractor.encoder, trainer, view, true);
    return extract_profile(options, extractor, samples, kClasses, Subsampling::off, Rng(1));
  }
};

// Latents agree to 6e-8; a projection sums 400 of them in float32, so 2e-6 is a few rounding steps.
TEST_P(GoldenProfile, OfAllPicturesIsTheReferenceProfile) {
  expect_near(in_reference_order(encode(profile_without({}), kGoldenShape)), golden_doubles("profile_reference"), 2e-6);
}

TEST_P(GoldenProfile, MissingClassesAreMinusOne) {
  const std::vector<std::int32_t> removed{3, 7};
  expect_near(in_reference_order(encode(profile_without(removed), kGoldenShape)),
              golden_doubles("profile_reference_missing_3_7"), 2e-6);
}

INSTANTIATE_TEST_SUITE_P(Engines, GoldenProfile, testing::Values(EngineKind::native, EngineKind::torch),
                         [](const auto& tested) { return tested.param == EngineKind::native ? "native" : "torch"; });

BlockScaler golden_scaler() {
  std::vector<std::vector<float>> vectors;
  for (const Profile& parent : golden_profiles("mapping_parents_raw")) {
    vectors.push_back(encode(parent, kGoldenShape));
  }
  return fit_block_scaler(vectors, kGoldenShape);
}

// Raw profiles are cast from double to float (relative 6e-8); dividing by a block's range magnifies that.
TEST(Golden, MinMaxScalingPerBlockAgrees) {
  for (const std::string which : {"parents", "current"}) {
    std::vector<double> ours;
    for (const Profile& profile : golden_profiles("mapping_" + which + "_raw")) {
      const std::vector<double> scaled = in_reference_order(scale(golden_scaler(), encode(profile, kGoldenShape)));
      ours.insert(ours.end(), scaled.begin(), scaled.end());
    }
    expect_near(ours, golden_doubles("mapping_" + which + "_scaled"), 1e-5);
  }
}

Matrix golden_weights(Metric metric, Kernel kernel) {
  const auto parents = golden_profiles("mapping_parents_raw");
  const auto current = golden_profiles("mapping_current_raw");
  const Gauge gauge = fit_gauge(metric, kGoldenShape, false, golden_scaler(), parents);
  return weights_of({kernel, 1, 0.5, 0}, compare(gauge, current, parents), 0);
}

TEST(Golden, WeightsAgreeForEveryKernelAndMetric) {
  expect_near(golden_weights(Metric::euclidean, Kernel::inverse).values,
              golden_doubles("mapping_weights_inverse_euclidean"), 1e-6);
  expect_near(golden_weights(Metric::euclidean, Kernel::softmax).values,
              golden_doubles("mapping_weights_softmax_euclidean"), 1e-6);
  expect_near(golden_weights(Metric::cosine, Kernel::softmax).values, golden_doubles("mapping_weights_softmax_cosine"),
              1e-6);
}

}  // namespace
}  // namespace feroma
