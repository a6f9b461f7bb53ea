#include "algorithms/stein.h"

#include "tests/algorithms/slopes.h"

namespace feroma {
namespace {

using test::doubles;
using test::expect_exact_slopes;
using test::expect_slopes;
using test::normal_rows;

/// The score of a standard normal.
std::vector<float> minus(const std::vector<float>& rows) {
  std::vector<float> scores;
  for (const float value : rows) {
    scores.push_back(-value);
  }
  return scores;
}

TEST(Stein, IsNearZeroForSamplesOfTheDensityAndLargeForShiftedOnes) {
  const std::vector<float> a = normal_rows(400 * 3, 1);
  const std::vector<float> b = normal_rows(400 * 3, 2);
  const auto discrepancy = [](const std::vector<float>& x, const std::vector<float>& y) {
    return stein_discrepancy({x, minus(x), y, minus(y), 3}, stein_width(x, y, 3)).value;
  };
  const double same = discrepancy(a, b);
  EXPECT_NEAR(same, 0, 0.02);
  const double shifted = discrepancy(normal_rows(400 * 3, 1, 1), normal_rows(400 * 3, 2, 1));
  EXPECT_GT(shifted, 0.1);
  EXPECT_GT(shifted, 10 * std::abs(same));
}

TEST(Stein, WidthFollowsTheMedianDistance) {
  // Distances 1, 4, 9, so the median squared distance is 16: rows 0 against 1, 4, 9 on a line.
  const std::vector<float> a{0};
  const std::vector<float> b{1, 4, 9};
  EXPECT_NEAR(stein_width(a, b, 1), 2 * std::sqrt(1 / (2 * std::log(2.0))) * std::sqrt(8.0), 1e-6);
}

/// The discrepancy of rows of three numbers, from its definition: s.t k + s.dk/db + t.dk/da + the trace of ddk/dadb.
double exact_discrepancy(const std::vector<double>& a, const std::vector<double>& s, const std::vector<double>& b,
                         const std::vector<double>& t, double kernel_width) {
  const double g = 1 / (kernel_width * kernel_width);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); i += 3) {
    for (std::size_t j = 0; j < b.size(); j += 3) {
      double squared = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        squared += (a[i + c] - b[j + c]) * (a[i + c] - b[j + c]);
      }
      const double kernel = std::exp(-g * squared);
      for (std::size_t c = 0; c < 3; ++c) {
        const double slope = -2 * g * (a[i + c] - b[j + c]) * kernel;  // dk/da = -dk/db
        const double curve = 2 * g * kernel + 2 * g * (a[i + c] - b[j + c]) * slope;
        sum += s[i + c] * t[j + c] * kernel - s[i + c] * slope + t[j + c] * slope + curve;
      }
    }
  }
  return sum / static_cast<double>(a.size() / 3 * (b.size() / 3));
}

TEST(Stein, ValueAndGradientsAreThoseOfTheDefinition) {
  const std::vector<float> a = normal_rows(5 * 3, 3);
  const std::vector<float> b = normal_rows(4 * 3, 4);
  const std::vector<float> s = normal_rows(5 * 3, 5);
  const std::vector<float> t = normal_rows(4 * 3, 6);
  const std::vector<double> ea = doubles(a);
  const std::vector<double> eb = doubles(b);
  const std::vector<double> es = doubles(s);
  const std::vector<double> et = doubles(t);
  const Stein at = stein_discrepancy({a, s, b, t, 3}, 1.7);
  EXPECT_NEAR(at.value, exact_discrepancy(ea, es, eb, et, 1.7), 1e-6);
  expect_exact_slopes(a, at.a, [&](const std::vector<double>& x) { return exact_discrepancy(x, es, eb, et, 1.7); });
  expect_exact_slopes(s, at.scores_a,
                      [&](const std::vector<double>& x) { return exact_discrepancy(ea, x, eb, et, 1.7); });
  expect_exact_slopes(b, at.b, [&](const std::vector<double>& x) { return exact_discrepancy(ea, es, x, et, 1.7); });
  expect_exact_slopes(t, at.scores_b,
                      [&](const std::vector<double>& x) { return exact_discrepancy(ea, es, eb, x, 1.7); });
}

// What is left of a row's gradient is that of the mean of scores . scores * kernel, or of that and the trace of the
// kernel's second derivatives; scores have theirs in full.
TEST(Stein, DerivativesOfTheKernelMayCountAsConstants) {
  const std::vector<float> a = normal_rows(5 * 3, 3);
  const std::vector<float> b = normal_rows(4 * 3, 4);
  const std::vector<float> s = normal_rows(5 * 3, 5);
  const std::vector<float> t = normal_rows(4 * 3, 6);
  const auto left = [&](const std::vector<double>& x, const std::vector<double>& y, double traces) {
    constexpr double kInverse = 1 / (1.7 * 1.7);
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); i += 3) {
      for (std::size_t j = 0; j < y.size(); j += 3) {
        double squared = 0;
        double product = 0;
        for (std::size_t c = 0; c < 3; ++c) {
          const double away = x[i + c] - y[j + c];
          squared += away * away;
          product += static_cast<double>(s[i + c]) * static_cast<double>(t[j + c]);
        }
        const double trace = 2 * 3 * kInverse - 4 * kInverse * kInverse * squared;
        sum += (product + traces * trace) * std::exp(-squared * kInverse);
      }
    }
    return sum / 20;
  };
  const Stein all = stein_discrepancy({a, s, b, t, 3}, 1.7);
  for (const KernelGradients gradients : {KernelGradients::constant, KernelGradients::trace}) {
    const Stein some = stein_discrepancy({a, s, b, t, 3}, 1.7, gradients);
    const double traces = gradients == KernelGradients::trace ? 1 : 0;
    EXPECT_EQ(some.value, all.value);
    EXPECT_EQ(some.scores_a, all.scores_a);
    EXPECT_EQ(some.scores_b, all.scores_b);
    EXPECT_NE(some.a, all.a);
    expect_exact_slopes(a, some.a, [&](const std::vector<double>& x) { return left(x, doubles(b), traces); });
    expect_exact_slopes(b, some.b, [&](const std::vector<double>& y) { return left(doubles(a), y, traces); });
  }
}

TEST(MeanDiscrepancy, ScaleIsTheMeanDistanceOfDifferentRows) {
  // Rows 0, 1 and 3 on a line: squared distances 1, 9 and 4.
  EXPECT_NEAR(mean_squared_distance(std::vector<float>{0, 3}, std::vector<float>{1}, 1), 14.0 / 3, 1e-6);
}

TEST(MeanDiscrepancy, IsZeroForTheSameSampleAndSymmetric) {
  const std::vector<float> a = normal_rows(30 * 4, 1);
  const std::vector<float> b = normal_rows(20 * 4, 2, 1);
  EXPECT_NEAR(mean_discrepancy(a, a, 4, 2).value, 0, 1e-6);
  EXPECT_NEAR(mean_discrepancy(a, b, 4, 2).value, mean_discrepancy(b, a, 4, 2).value, 1e-6);
  EXPECT_GT(mean_discrepancy(a, b, 4, 2).value, 0.1);
  EXPECT_EQ(mean_discrepancy(a, b, 4, 0).value, 0);
}

TEST(MeanDiscrepancy, GradientAgreesWithFiniteDifferences) {
  const std::vector<float> a = normal_rows(6 * 3, 1);
  const std::vector<float> b = normal_rows(4 * 3, 2, 0.5);
  expect_slopes(
      b, mean_discrepancy(a, b, 3, 5).gradient, [&](const auto& y) { return mean_discrepancy(a, y, 3, 5).value; }, 1e-2,
      2e-3);
}

}  // namespace
}  // namespace feroma
