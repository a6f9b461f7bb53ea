#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace feroma {

/// How Gaussian releases add up to an epsilon: by zCDP, or as the continuous Gaussian mechanism that they resemble.
enum class Calibration { zcdp, analytic };
constexpr auto enum_names(Calibration) {
  using enum Calibration;
  return std::array<std::pair<Calibration, std::string_view>, 2>{{{zcdp, "zcdp"}, {analytic, "analytic"}}};
}

/// The smallest epsilon such that rho-zCDP is (epsilon, delta)-differential privacy, by minimising over Renyi orders.
[[nodiscard]] double epsilon_of(double rho, double delta);
/// The largest rho that stays within (epsilon, delta).
[[nodiscard]] double rho_of(double epsilon, double delta);
/// A release of pure epsilon, as zCDP.
[[nodiscard]] double rho_of_pure(double epsilon);

/// Noise over sensitivity of the continuous Gaussian mechanism at (epsilon, delta) (Balle, Wang 2018). For comparison:
/// not proven for integer noise.
[[nodiscard]] double analytic_noise(double epsilon, double delta);
/// The epsilon of Gaussian releases that cost `rho` in all, by the same formula.
[[nodiscard]] double analytic_epsilon(double rho, double delta);
/// Noise over sensitivity of a Gaussian release that costs `rho`.
[[nodiscard]] double noise_of(double rho);

/// What a run may release. Bounds take their part first, then every release costs the same.
struct ReleasePlan {
  double total = 0;    ///< rho of the whole run, or its epsilon where releases are pure
  double bounds = 0;   ///< of the histogram of norms; 0 without one
  double release = 0;  ///< of one profile
  int releases = 0;
};

/// A plan within (epsilon, delta) over `releases` profiles; a budget that bounds already spend is an invalid_config
/// error.
[[nodiscard]] ReleasePlan plan_gaussian(double epsilon, double delta, int releases, double bounds_epsilon = 0,
                                        Calibration calibration = Calibration::zcdp);
/// The same for pure releases, whose epsilons add.
[[nodiscard]] ReleasePlan plan_pure(double epsilon, int releases, double bounds_epsilon = 0);

}  // namespace feroma
