#include "report/tail_laws.h"

#include <cmath>

#include "feroma/report/statistics.h"

namespace feroma {
namespace {

constexpr double kTiny = 1e-300;
constexpr double kEnough = 1e-15;
constexpr int kTerms = 500;

double normal_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Lentz's evaluation of the continued fraction of the incomplete beta function.
double beta_fraction(double a, double b, double x) {
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double value = d;
  for (int m = 1; m <= kTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double part : {even, odd}) {
      d = 1 + part * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + part / c;
      c = std::abs(c) < kTiny ? kTiny : c;
      step = c * d;
      value *= step;
    }
    if (std::abs(step - 1) < kEnough) {
      break;
    }
  }
  return value;
}

/// The regularised incomplete beta function.
double beta_share(double a, double b, double x) {
  if (x <= 0 || x >= 1) {
    return x <= 0 ? 0 : 1;
  }
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  // The fraction converges quickly on one side of the mean only.
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/// The regularised upper incomplete gamma function: a series below its mean, a continued fraction above.
double gamma_tail(double a, double x) {
  if (x <= 0) {
    return 1;
  }
  const double front = std::exp(a * std::log(x) - x - std::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (int n = 1; n <= kTerms && term > sum * kEnough; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return 1 - front * sum;
  }
  double b = x + 1 - a;
  double c = 1 / kTiny;
  double d = 1 / b;
  double value = d;
  for (int n = 1; n <= kTerms; ++n) {
    const double part = -n * (n - a);
    b += 2;
    d = part * d + b;
    d = 1 / (std::abs(d) < kTiny ? kTiny : d);
    c = b + part / c;
    c = std::abs(c) < kTiny ? kTiny : c;
    value *= c * d;
    if (std::abs(c * d - 1) < kEnough) {
      break;
    }
  }
  return front * value;
}

/// The chance that `count` normal values lie within `range` of one another: Simpson's rule over where the largest of
/// them lies; outside -8..8 there is less than 1e-14.
double range_below(std::size_t count, double range) {
  constexpr int kSteps = 2000;
  constexpr double kFrom = -8;
  constexpr double kWidth = 16.0 / kSteps;
  const auto k = static_cast<double>(count);
  double sum = 0;
  for (int i = 0; i <= kSteps; ++i) {
    const double z = kFrom + kWidth * i;
    const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
    const double value = k * density * std::pow(normal_below(z) - normal_below(z - range), k - 1);
    sum += value * (i == 0 || i == kSteps ? 1 : i % 2 == 1 ? 4 : 2);
  }
  return sum * kWidth / 3;
}

}  // namespace

double chi_square_tail(double x, double degrees) { return gamma_tail(degrees / 2, x / 2); }

double student_t_two_sided(double t, double degrees) {
  return beta_share(degrees / 2, 0.5, degrees / (degrees + t * t));
}

double detail::studentized_range_quantile(std::size_t count, double probability) {
  double low = 0;
  double high = 20;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (range_below(count, middle) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace feroma
