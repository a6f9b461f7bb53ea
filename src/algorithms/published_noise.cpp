#include "algorithms/published_noise.h"

#include <algorithm>
#include <cmath>

#include "feroma/profile/bounds.h"

namespace feroma {
namespace {

double laplace(double scale, Rng& rng) {
  const double u = rng.uniform() - 0.5;
  return (u < 0 ? scale : -scale) * std::log1p(-2 * std::abs(u));
}

std::vector<double> scales_of(const Rows& rows, double divisor) {
  const Bounds bounds = bounds_of(rows);
  std::vector<double> scales;
  for (std::size_t c = 0; c < bounds.lower.size(); ++c) {
    scales.push_back((static_cast<double>(bounds.upper[c]) - static_cast<double>(bounds.lower[c])) / divisor);
  }
  return scales;
}

void add_noise(Moments& moments, const std::vector<double>& scales, Rng& rng) {
  for (std::vector<float>* values : {&moments.mean, &moments.std}) {
    for (std::size_t c = 0; c < values->size(); ++c) {
      (*values)[c] += static_cast<float>(laplace(scales[c], rng));
    }
  }
}

}  // namespace

Profile with_published_noise(Profile profile, const Rows& marginal, const Rows& conditional, double epsilon, Rng rng) {
  const double divisor = epsilon * static_cast<double>(profile.num_samples);
  add_noise(profile.marginal, scales_of(marginal, divisor), rng);
  const std::vector<double> scales = scales_of(conditional, divisor);
  for (Moments& moments : profile.per_class) {
    add_noise(moments, scales, rng);
  }
  for (float& share : profile.prior) {
    // A share of 0 marks a class as absent and stays: nothing is promised here.
    share = share > 0 ? std::max(1e-6F, share + static_cast<float>(laplace(1 / divisor, rng))) : share;
  }
  return profile;
}

Profile published_form(const FeromaPlan& plan, const Extractor& extractor, const EncodedSamples& samples,
                       Profile profile, const Rng& rng) {
  if (plan.privacy.mode != PrivacyMode::paper) {
    return profile;
  }
  const bool constant = plan.options.noise_stream == NoiseStream::constant;
  const Rows projected = project(extractor.projector, samples.rows);
  return with_published_noise(std::move(profile), plan.options.full_marginal ? samples.rows : projected, projected,
                              plan.privacy.epsilon_total, constant ? Rng(1) : rng.derive("published noise"));
}

}  // namespace feroma
