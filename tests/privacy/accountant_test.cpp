#include "feroma/privacy/accountant.h"

#include <gtest/gtest.h>

#include <cmath>

#include "feroma/core/rng.h"
#include "tests/expect_error.h"

namespace feroma {
namespace {

void expect_close(double value, double expected) { EXPECT_NEAR(value, expected, 1e-5 * expected); }

TEST(Accountant, ConvertsZcdpAsThePapersTablesDo) {
  expect_close(epsilon_of(0.01, 1e-5), 0.545726);
  expect_close(epsilon_of(0.1, 1e-5), 1.914239);
  expect_close(epsilon_of(0.5, 1e-5), 4.728387);
  expect_close(epsilon_of(1, 1e-5), 7.077197);
  expect_close(epsilon_of(5, 1e-5), 19.047260);
  expect_close(epsilon_of(0.1, 1e-6), 2.141939);
  expect_close(epsilon_of(1, 1e-6), 7.766217);
  EXPECT_EQ(epsilon_of(0, 1e-5), 0);
}

// Four digits are printed there.
TEST(Accountant, FindsTheLargestRhoOfABudget) {
  const double printed[][2] = {{0.5, 0.00851}, {1, 0.03056}, {2, 0.10826}, {5, 0.55097}, {10, 1.7827}};
  for (const auto& [epsilon, rho] : printed) {
    EXPECT_NEAR(rho_of(epsilon, 1e-5), rho, 6e-4 * rho);
    EXPECT_LE(epsilon_of(rho_of(epsilon, 1e-5), 1e-5), epsilon);
    EXPECT_GT(epsilon_of(rho_of(epsilon, 1e-5) * 1.0001, 1e-5), epsilon);
  }
}

TEST(Accountant, KnowsTheAnalyticGaussian) {
  const double known[][2] = {{0.5, 7.031827}, {1, 3.730632}, {2, 1.993812}, {5, 0.891868}, {10, 0.499889}};
  for (const auto& [epsilon, noise] : known) {
    EXPECT_NEAR(analytic_noise(epsilon, 1e-5), noise, 1e-5 * noise);
    EXPECT_GT(noise_of(rho_of(epsilon, 1e-5)), noise) << "what is proven for integers costs more";
  }
}

TEST(Accountant, EpsilonRisesWithRhoAndFallsWithDelta) {
  double before = 0;
  for (double rho = 1e-4; rho < 100; rho *= 1.3) {
    EXPECT_GT(epsilon_of(rho, 1e-5), before);
    EXPECT_GT(epsilon_of(rho, 1e-6), epsilon_of(rho, 1e-5));
    before = epsilon_of(rho, 1e-5);
  }
}

TEST(Accountant, PlansNeverExceedTheirBudget) {
  Rng rng(7);
  for (int i = 0; i < 200; ++i) {
    const double epsilon = std::exp(rng.uniform(-2, 3));
    const double delta = std::exp(rng.uniform(-16, -5));
    const int releases = 1 + static_cast<int>(rng.below(50));
    const double bounds = rng.uniform() < 0.5 ? 0 : 0.05 * epsilon;
    const ReleasePlan pure = plan_pure(epsilon, releases, bounds);
    EXPECT_LE(pure.bounds + releases * pure.release, epsilon * (1 + 1e-12));
    if (rho_of_pure(bounds) >= rho_of(epsilon, delta)) {
      continue;
    }
    const ReleasePlan plan = plan_gaussian(epsilon, delta, releases, bounds);
    EXPECT_LE(epsilon_of(plan.bounds + releases * plan.release, delta), epsilon * (1 + 1e-9));
  }
}

TEST(Accountant, RefusesBudgetsThatAreNone) {
  expect_error(ErrorCode::invalid_config, "epsilon must be above 0", [] { return plan_gaussian(0, 1e-5, 1); });
  expect_error(ErrorCode::invalid_config, "delta must be between", [] { return plan_gaussian(1, 1, 1); });
  expect_error(ErrorCode::invalid_config, "max_releases", [] { return plan_gaussian(1, 1e-5, 0); });
  expect_error(ErrorCode::invalid_config, "leave something for profiles", [] { return plan_pure(1, 5, 1); });
  expect_error(ErrorCode::invalid_config, "epsilon must be", [] { return plan_pure(std::nan(""), 5); });
}

}  // namespace
}  // namespace feroma
