#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace feroma {

/// Mean and sample standard deviation (n - 1) of some values; the deviation is absent for fewer than two.
struct MeanDeviation {
  double mean = 0;
  std::optional<double> deviation = {};
  std::size_t count = 0;
};
/// Absent for no values.
[[nodiscard]] std::optional<MeanDeviation> mean_and_deviation(std::span<const double> values);

/// Whether two values lie no further apart than rounding puts equal ones.
[[nodiscard]] bool same_but_for_rounding(double a, double b);

/// Ranks from 1, the largest value first; values that are the same but for rounding share the mean of their ranks.
[[nodiscard]] std::vector<double> ranks_from_best(std::span<const double> values);

/// A two-sided test of pairs a[i], b[i].
struct PairedTest {
  std::size_t pairs = 0;  ///< that count; Wilcoxon leaves out those that are equal but for rounding
  double statistic = 0;   ///< Wilcoxon: the smaller rank sum; t test: t of a - b
  double p = 1;
  bool exact = true;  ///< whether p is exact under the test's own assumptions
};
/// Wilcoxon's signed-rank test: every sign pattern is counted up to 25 pairs, beyond that the normal approximation with
/// corrections for ties and continuity. Differences that rounding alone parts are ties. Absent where no pair differs.
[[nodiscard]] std::optional<PairedTest> wilcoxon_signed_rank(std::span<const double> a, std::span<const double> b);
/// Student's t test of the differences; absent for fewer than two pairs or differences that vary by rounding alone.
[[nodiscard]] std::optional<PairedTest> paired_t(std::span<const double> a, std::span<const double> b);

/// p values adjusted for being several, after Holm: in the order given, at most 1.
[[nodiscard]] std::vector<double> holm(std::span<const double> p);

/// Friedman's test that several methods rank alike over blocks (scenarios and seeds).
struct FriedmanTest {
  std::size_t blocks = 0;
  std::size_t methods = 0;
  std::vector<double> mean_ranks;  ///< per method, 1 is best
  double chi_square = 0;           ///< corrected for ties
  double p = 1;                    ///< by the chi-square law with methods - 1 degrees of freedom
};
/// `values` has one row per block and one column per method; absent for fewer than two of either.
[[nodiscard]] std::optional<FriedmanTest> friedman(const std::vector<std::vector<double>>& values);

/// Nemenyi's critical difference: mean ranks that lie further apart differ at level `alpha`.
[[nodiscard]] double critical_difference(std::size_t methods, std::size_t blocks, double alpha = 0.05);

/// The chance that a chi-square variable of `degrees` is at least `x`.
[[nodiscard]] double chi_square_tail(double x, double degrees);
/// The chance that Student's t of `degrees` is at least |t| away from 0.
[[nodiscard]] double student_t_two_sided(double t, double degrees);

}  // namespace feroma
