#include "algorithms/stein.h"

#include <algorithm>
#include <cmath>

#include "algorithms/dense.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Squared distances between all rows of two samples; rounding leaves none of them negative.
std::vector<double> squared_distances(std::span<const float> a, std::span<const float> b, std::size_t width) {
  const std::vector<float> products = multiply(a, transpose(b, width), width);
  const std::vector<double> norms_a = squared_norms(a, width);
  const std::vector<double> norms_b = squared_norms(b, width);
  std::vector<double> distances(products.size());
  for (std::size_t i = 0; i < norms_a.size(); ++i) {
    for (std::size_t j = 0; j < norms_b.size(); ++j) {
      const std::size_t at = i * norms_b.size() + j;
      distances[at] = std::max(norms_a[i] + norms_b[j] - 2 * static_cast<double>(products[at]), 0.0);
    }
  }
  return distances;
}

std::vector<double> row_sums(std::span<const float> matrix, std::size_t columns) {
  std::vector<double> sums(matrix.size() / columns);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (const float value : matrix.subspan(i * columns, columns)) {
      sums[i] += static_cast<double>(value);
    }
  }
  return sums;
}

/// s_i . x_i for every row.
std::vector<double> paired_products(std::span<const float> s, std::span<const float> x, std::size_t width) {
  std::vector<double> products(s.size() / width);
  for (std::size_t i = 0; i < products.size(); ++i) {
    for (std::size_t j = i * width; j < (i + 1) * width; ++j) {
      products[i] += static_cast<double>(s[j]) * static_cast<double>(x[j]);
    }
  }
  return products;
}

/// sum over the other side of pull_ij * (own_i - other_j), for all rows i; `pulls` is rows x others.
std::vector<float> pulled(std::span<const float> pulls, std::span<const float> own, std::span<const float> other,
                          std::size_t width) {
  const std::size_t others = other.size() / width;
  const std::vector<double> sums = row_sums(pulls, others);
  std::vector<float> out = multiply(pulls, other, others);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    for (std::size_t j = i * width; j < (i + 1) * width; ++j) {
      out[j] = static_cast<float>(sums[i] * static_cast<double>(own[j]) - static_cast<double>(out[j]));
    }
  }
  return out;
}

/// The gradients of one side, from the weights of its pairs: kernels k and slopes c = dk q / dr.
struct SteinSide {
  std::span<const float> rows;
  std::span<const float> scores;
  std::span<const float> other_rows;
  std::span<const float> other_scores;
  std::span<const float> kernels;  ///< rows x others, over the number of pairs
  std::span<const float> slopes;
  bool follows_first = true;  ///< whether the kernel's first derivatives are followed
};

/// With r the squared distance and g = 1 / h^2, a pair has k q, q = s.t + 2g (s - t).(a - b) + 2dg - 4g^2 r.
void side_gradients(const SteinSide& side, double g, std::size_t width, std::vector<float>& rows,
                    std::vector<float>& scores) {
  rows = pulled(side.slopes, side.rows, side.other_rows, width);
  const std::vector<float> score_pull = pulled(side.kernels, side.scores, side.other_scores, width);
  const std::vector<float> row_pull = pulled(side.kernels, side.rows, side.other_rows, width);
  scores = multiply(side.kernels, side.other_scores, side.other_scores.size() / width);
  const auto twice = static_cast<float>(2 * g);
  const float followed = side.follows_first ? twice : 0.0F;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = 2 * rows[i] + followed * score_pull[i];
    scores[i] += twice * row_pull[i];
  }
}

}  // namespace

double stein_width(std::span<const float> a, std::span<const float> b, std::size_t width) {
  std::vector<double> distances = squared_distances(a, b, width);
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  const auto count = static_cast<double>(a.size() / width);
  return 2 * std::sqrt(1 / (2 * portable_log(count + 1))) * std::sqrt(*middle / 2);
}

Stein stein_discrepancy(const ScoredSamples& samples, double kernel_width, KernelGradients gradients) {
  const std::size_t width = samples.width;
  const std::vector<double> distances = squared_distances(samples.a, samples.b, width);
  const std::vector<float> turned_b = transpose(samples.b, width);
  const std::vector<float> turned_t = transpose(samples.scores_b, width);
  const std::vector<float> st = multiply(samples.scores_a, turned_t, width);
  const std::vector<float> sb = multiply(samples.scores_a, turned_b, width);
  const std::vector<float> at = multiply(samples.a, turned_t, width);
  const std::vector<double> sa = paired_products(samples.scores_a, samples.a, width);
  const std::vector<double> tb = paired_products(samples.scores_b, samples.b, width);
  const double g = 1 / (kernel_width * kernel_width);
  const auto pairs = static_cast<double>(distances.size());
  std::vector<float> kernels(distances.size());
  std::vector<float> slopes(distances.size());
  Stein result;
  for (std::size_t i = 0; i < distances.size(); ++i) {
    const double cross =
        sa[i / tb.size()] - static_cast<double>(sb[i]) - static_cast<double>(at[i]) + tb[i % tb.size()];
    const double kernel = portable_exp(-distances[i] * g) / pairs;
    const double trace = 2 * static_cast<double>(width) * g - 4 * g * g * distances[i];
    const auto product = static_cast<double>(st[i]);
    const double q = product + 2 * g * cross + trace;
    result.value += kernel * q;
    kernels[i] = static_cast<float>(kernel);
    const double followed = gradients == KernelGradients::follow  ? q + 4 * g
                            : gradients == KernelGradients::trace ? product + trace + 4 * g
                                                                  : product;
    slopes[i] = static_cast<float>(-kernel * g * followed);
  }
  const bool first = gradients == KernelGradients::follow;
  side_gradients({samples.a, samples.scores_a, samples.b, samples.scores_b, kernels, slopes, first}, g, width, result.a,
                 result.scores_a);
  const std::vector<float> turned_kernels = transpose(kernels, tb.size());
  const std::vector<float> turned_slopes = transpose(slopes, tb.size());
  side_gradients({samples.b, samples.scores_b, samples.a, samples.scores_a, turned_kernels, turned_slopes, first}, g,
                 width, result.b, result.scores_b);
  return result;
}

/// Of n rows, half the sum of all squared distances is n times the sum of squares less the square of the sum.
double mean_squared_distance(std::span<const float> a, std::span<const float> b, std::size_t width) {
  std::vector<double> sums(width);
  double squares = 0;
  for (const std::span<const float> part : {a, b}) {
    for (std::size_t first = 0; first < part.size(); first += width) {
      for (std::size_t j = 0; j < width; ++j) {
        const auto value = static_cast<double>(part[first + j]);
        sums[j] += value;
        squares += value * value;
      }
    }
  }
  const auto rows = static_cast<double>((a.size() + b.size()) / width);
  double square_of_sum = 0;
  for (const double sum : sums) {
    square_of_sum += sum * sum;
  }
  return std::max(2 * (rows * squares - square_of_sum) / (rows * (rows - 1)), 0.0);
}

Discrepancy mean_discrepancy(std::span<const float> a, std::span<const float> b, std::size_t width, double scale) {
  Discrepancy result{0, std::vector<float>(b.size())};
  if (!(scale > 0)) {
    return result;
  }
  const std::vector<double> between = squared_distances(a, b, width);
  const std::vector<double> within_a = squared_distances(a, a, width);
  const std::vector<double> within_b = squared_distances(b, b, width);
  const auto count_a = static_cast<double>(a.size() / width);
  const auto count_b = static_cast<double>(b.size() / width);
  // Kernel values add to the discrepancy with this weight; the returned slopes are those over the distances.
  const auto kernels = [&](std::span<const double> distances, double weight) {
    std::vector<float> slopes(distances.size());
    for (std::size_t i = 0; i < distances.size(); ++i) {
      const double wide = portable_exp(-distances[i] / scale);
      result.value += weight * (wide + wide * wide);  // the narrow kernel is the wide one's square
      slopes[i] = static_cast<float>(-weight * (wide + 2 * wide * wide) / scale);
    }
    return slopes;
  };
  static_cast<void>(kernels(within_a, 1 / (count_a * count_a)));
  const std::vector<float> inside = kernels(within_b, 1 / (count_b * count_b));
  const std::vector<float> across = kernels(between, -2 / (count_a * count_b));
  const std::vector<float> apart = pulled(inside, b, b, width);
  const std::vector<float> towards = pulled(transpose(across, b.size() / width), b, a, width);
  for (std::size_t i = 0; i < result.gradient.size(); ++i) {
    result.gradient[i] = 4 * apart[i] + 2 * towards[i];  // a distance within b belongs to two of its rows
  }
  return result;
}

}  // namespace feroma
