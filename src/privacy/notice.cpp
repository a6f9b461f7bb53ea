#include "feroma/privacy/notice.h"

#include <fmt/core.h>

namespace feroma {

std::string guarantee_of(const PrivacyOptions& options) {
  if (options.mode == PrivacyMode::off) {
    return "none: profiles are exact";
  }
  if (options.mode == PrivacyMode::paper) {
    return "none: the published noise carries no DP guarantee";
  }
  if (options.noise == NoiseSource::seeded) {
    return "none: the noise is seeded, for simulations alone";
  }
  return fmt::format(
      "({:g}, {})-differential privacy of one record ({}) over all of a client's profiles for an algorithm{}{}. Model "
      "updates are not "
      "covered by this guarantee.",
      options.epsilon_total, options.mode == PrivacyMode::pure ? "0" : fmt::format("{:g}", options.delta_total),
      name_of(options.neighbours),
      options.calibration == Calibration::analytic ? ", by the analytic formula, which is not proven for integer noise"
                                                   : "",
      options.versions_disjoint ? ", if no record outlives a data version, as was declared" : "");
}

std::string published_notice(double epsilon, const MomentCounts& moments, std::int64_t samples) {
  const ComposedEpsilon composed = composed_epsilon(epsilon, moments, samples);
  return fmt::format(
      "privacy.mode paper: no DP guarantee. At epsilon {1:g} one profile of up to {0} samples composes to an epsilon "
      "of up "
      "to {2:.0f} in the worst case and {3:.0f} where classes are balanced; every further profile adds as much, and "
      "ranges "
      "taken from the data make it infinite",
      samples, epsilon, composed.worst, composed.balanced);
}

}  // namespace feroma
