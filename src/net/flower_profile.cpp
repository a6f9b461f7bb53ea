#include "net/flower_profile.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/core/npy.h"

namespace feroma::net {
namespace {

// The reference implementation's clients make a projection of their own, by PCA of noise between these bounds. They
// move its centre alone, which cancels in every difference of profiles; these are the bounds that it begins with.
constexpr double kLeastLatent = 0;
constexpr double kLargestLatent = 2;

const std::string kProfile = "profile";
const std::string kMean = "latent_space_mean";
const std::string kStd = "latent_space_std";
const std::string kMeanByLabel = "latent_space_mean_by_label";
const std::string kStdByLabel = "latent_space_std_by_label";
const std::string kClassShares = "class_shares";

std::string what_of(const std::string& key) { return fmt::format("[flower] the metric {}", key); }

/// The numbers of a metric, as a JSON list or a .npy file.
Floats vector_in(const Scalars& metrics, const std::string& key, std::size_t most) {
  const auto found = metrics.find(key);
  require(found != metrics.end(), ErrorCode::invalid_data, "{} is missing", what_of(key));
  if (found->second.has_text()) {
    return numbers_in_json(found->second.text(), most, what_of(key));
  }
  require(found->second.has_data(), ErrorCode::invalid_data, "{} must be a JSON list or a .npy file", what_of(key));
  const std::string& file = found->second.data();
  const std::vector<double> wide = parse_npy(std::as_bytes(std::span(file)), what_of(key)).to_doubles();
  Floats values;
  for (const double value : wide) {
    values.push_back(static_cast<float>(value));
    require(std::isfinite(values.back()), ErrorCode::invalid_data, "{} must be finite, got {}", what_of(key), value);
  }
  return values;
}

void expect_length(const std::string& key, std::size_t got, std::size_t wanted) {
  require(got == wanted, ErrorCode::invalid_data, "{} must have {} numbers, got {}", what_of(key), wanted, got);
}

/// Moments of raw latents as those of projected ones. Spreads are projected as if coordinates were independent.
Moments projected(const Moments& raw, const Projector& projector) {
  Moments result;
  const auto in = static_cast<std::size_t>(projector.input);
  result.mean = project(projector, Rows{projector.input, raw.mean}).values;
  for (int a = 0; a < projector.output; ++a) {
    double variance = 0;
    for (std::size_t c = 0; c < in; ++c) {
      const double spread = static_cast<double>(projector.components[static_cast<std::size_t>(a) * in + c]) *
                            static_cast<double>(raw.std[c]);
      variance += spread * spread;
    }
    result.std.push_back(static_cast<float>(std::sqrt(variance)));
  }
  return result;
}

/// Moments of a class that has too few samples: the same placeholder everywhere.
bool is_placeholder(const Moments& moments) {
  const auto all_are = [](const std::vector<float>& values, float value) {
    return std::all_of(values.begin(), values.end(), [value](float v) { return v == value; });
  };
  return (all_are(moments.mean, -1) && all_are(moments.std, -1)) ||
         (all_are(moments.mean, 0) && all_are(moments.std, 0));
}

/// Clients send deviations.
Moments spread_as(const ProfileShape& shape, Moments moments) {
  if (shape.variances && !is_placeholder(moments)) {
    for (float& spread : moments.std) {
      spread *= spread;
    }
  }
  return moments;
}

/// Moments in `wanted` coordinates: as they are, or projected where they are of raw latents.
Moments shaped(Moments moments, int wanted, const Projector& projector) {
  if (moments.mean.size() == static_cast<std::size_t>(wanted)) {
    return moments;
  }
  if (is_placeholder(moments)) {
    const float value = moments.mean.front();
    return {std::vector<float>(static_cast<std::size_t>(wanted), value),
            std::vector<float>(static_cast<std::size_t>(wanted), value)};
  }
  return projected(moments, projector);
}

Floats from_moments(const Scalars& metrics, const FlowerProfiles& profiles, const Projector& projector) {
  const ProfileShape& shape = profiles.shape;
  const auto width = static_cast<std::size_t>(profiles.width);
  const auto classes = static_cast<std::size_t>(shape.classes);
  Profile profile;
  Moments marginal{vector_in(metrics, kMean, width), vector_in(metrics, kStd, width)};
  const bool raw = marginal.mean.size() == width;
  expect_length(kMean, marginal.mean.size(), raw ? width : static_cast<std::size_t>(shape.marginal));
  expect_length(kStd, marginal.std.size(), marginal.mean.size());
  profile.marginal = spread_as(shape, shaped(std::move(marginal), shape.marginal, projector));
  const Floats means = vector_in(metrics, kMeanByLabel, classes * width);
  const Floats stds = vector_in(metrics, kStdByLabel, classes * width);
  const bool raw_classes = means.size() == classes * width;
  const std::size_t each = raw_classes ? width : static_cast<std::size_t>(shape.conditional);
  expect_length(kMeanByLabel, means.size(), classes * each);
  expect_length(kStdByLabel, stds.size(), classes * each);
  for (std::size_t u = 0; u < classes; ++u) {
    const auto part = [&](const Floats& all) {
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(u * each);
      return std::vector<float>(begin, begin + static_cast<std::ptrdiff_t>(each));
    };
    profile.per_class.push_back(spread_as(shape, shaped({part(means), part(stds)}, shape.conditional, projector)));
  }
  if (shape.priors) {
    profile.prior = vector_in(metrics, kClassShares, classes);
    expect_length(kClassShares, profile.prior.size(), classes);
    for (const float share : profile.prior) {
      require(share >= 0 && share <= 1, ErrorCode::invalid_data, "{} must be in 0..1, got {}", what_of(kClassShares),
              share);
    }
  }
  return encode(profile, shape);
}

}  // namespace

void ask_for_profile(Scalars& config, const FlowerProfiles& profiles, const Projector& projector) {
  put(config, "extract_descriptors", true);
  put(config, "min_latent_space", kLeastLatent);
  put(config, "max_latent_space", kLargestLatent);
  put(config, "feroma_profile_length", static_cast<std::int64_t>(profiles.shape.size()));
  put(config, "feroma_marginal", static_cast<std::int64_t>(profiles.shape.marginal));
  put(config, "feroma_conditional", static_cast<std::int64_t>(profiles.shape.conditional));
  put(config, "feroma_classes", static_cast<std::int64_t>(profiles.shape.classes));
  put(config, "feroma_class_shares", profiles.shape.priors);
  put(config, "feroma_latent", std::string(name_of(profiles.latent)));
  put(config, "feroma_unit_norm", profiles.unit_norm);
  put(config, "feroma_projector",
      npy_bytes(projector.components, std::array<std::int64_t, 2>{projector.output, projector.input}));
  put(config, "feroma_projector_centre", npy_bytes(projector.centre, std::array<std::int64_t, 1>{projector.input}));
}

std::optional<Floats> profile_in(const Scalars& metrics, const FlowerProfiles& profiles, const Projector& projector) {
  if (metrics.contains(kProfile)) {
    Floats values = vector_in(metrics, kProfile, profiles.shape.size());
    expect_length(kProfile, values.size(), profiles.shape.size());
    return values;
  }
  return metrics.contains(kMean) ? std::optional<Floats>(from_moments(metrics, profiles, projector)) : std::nullopt;
}

}  // namespace feroma::net
