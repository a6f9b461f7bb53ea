#include "feroma/profile/jitter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "feroma/profile/scaler.h"

namespace feroma {
namespace {

/// Samples that a present class keeps: above the two below which it would count as absent.
constexpr double kLeastSamples = 2.5;
/// Shares are floats; those of one label per sample sum to 1 up to rounding.
constexpr double kRounding = 1e-3;

/// Brings moved shares back to what shares are. A class that was present stays so; one that was absent has not moved.
std::vector<float> repaired_shares(const std::vector<float>& moved, const Profile& before) {
  const double total = std::accumulate(before.prior.begin(), before.prior.end(), 0.0);
  double floor = kLeastSamples / static_cast<double>(before.num_samples);
  double present = 0;
  for (const float share : before.prior) {
    if (share > 0) {
      floor = std::min(floor, static_cast<double>(share));
      present += 1;
    }
  }
  std::vector<double> above(moved.size());
  for (std::size_t u = 0; u < moved.size(); ++u) {
    above[u] = before.prior[u] > 0 ? std::clamp(static_cast<double>(moved[u]), floor, 1.0) - floor : 0.0;
  }
  // Of several labels per sample each share stands alone.
  double factor = 1;
  if (std::abs(total - 1) < kRounding) {
    const double sum = std::accumulate(above.begin(), above.end(), 0.0);
    if (!(sum > 0)) {
      return before.prior;
    }
    factor = (1 - present * floor) / sum;
  }
  std::vector<float> shares(moved.size());
  for (std::size_t u = 0; u < moved.size(); ++u) {
    shares[u] = before.prior[u] > 0 ? static_cast<float>(floor + factor * above[u]) : 0.0F;
  }
  return shares;
}

void keep_spreads_positive(Moments& moments) {
  for (float& std : moments.std) {
    std = std::max(std, 0.0F);
  }
}

}  // namespace

Profile jittered(const Profile& profile, const ProfileShape& shape, Rng rng) {
  const Signature signature = signature_of(profile, shape, /*label_free=*/false);
  std::vector<float> values = encode(profile, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (signature.noise[i] > 0) {
      values[i] += static_cast<float>(std::sqrt(signature.noise[i]) * rng.normal());
    }
  }
  Profile moved = decode(values, shape, profile.num_samples);
  keep_spreads_positive(moved.marginal);
  for (std::size_t u = 0; u < moved.per_class.size(); ++u) {
    if (profile.prior[u] > 0) {  // an absent class keeps whatever stands for it
      keep_spreads_positive(moved.per_class[u]);
    }
  }
  moved.prior = shape.priors ? repaired_shares(moved.prior, profile) : profile.prior;
  return moved;
}

}  // namespace feroma
