#include "feroma/profile/moments.h"

#include <cmath>

#include "feroma/core/error.h"

namespace feroma {

Moments moments_of(const Rows& rows, std::span<const std::uint32_t> which, SpreadKind spread) {
  const auto width = static_cast<std::size_t>(rows.width);
  std::vector<double> sum(width);
  std::vector<double> deviation(width);
  for (const std::uint32_t i : which) {
    const auto row = rows.row(i);
    for (std::size_t c = 0; c < width; ++c) {
      sum[c] += static_cast<double>(row[c]);
    }
  }
  const double count = which.empty() ? 1.0 : static_cast<double>(which.size());
  // Two passes: the spread is measured around the mean, so that large means do not eat its digits.
  for (const std::uint32_t i : which) {
    const auto row = rows.row(i);
    for (std::size_t c = 0; c < width; ++c) {
      const double d = static_cast<double>(row[c]) - sum[c] / count;
      deviation[c] += d * d;
    }
  }
  Moments moments{std::vector<float>(width), std::vector<float>(width)};
  for (std::size_t c = 0; c < width; ++c) {
    moments.mean[c] = static_cast<float>(sum[c] / count);
    const double variance = deviation[c] / count;
    moments.std[c] = static_cast<float>(spread == SpreadKind::variance ? variance : std::sqrt(variance));
  }
  return moments;
}

Moments average(std::span<const Moments> moments) {
  require(!moments.empty(), ErrorCode::internal, "[profile] cannot average zero moments");
  const std::size_t width = moments.front().mean.size();
  const double share = 1.0 / static_cast<double>(moments.size());
  Moments result{std::vector<float>(width), std::vector<float>(width)};
  for (std::size_t c = 0; c < width; ++c) {
    double mean = 0;
    double std = 0;
    for (const Moments& m : moments) {
      mean += static_cast<double>(m.mean[c]);
      std += static_cast<double>(m.std[c]);
    }
    result.mean[c] = static_cast<float>(mean * share);
    result.std[c] = static_cast<float>(std * share);
  }
  return result;
}

double wasserstein2(const Moments& a, const Moments& b) {
  require(a.mean.size() == b.mean.size(), ErrorCode::internal, "[profile] moments of {} and {} coordinates",
          a.mean.size(), b.mean.size());
  double sum = 0;
  for (std::size_t c = 0; c < a.mean.size(); ++c) {
    const double mean = static_cast<double>(a.mean[c]) - static_cast<double>(b.mean[c]);
    const double std = static_cast<double>(a.std[c]) - static_cast<double>(b.std[c]);
    sum += mean * mean + std * std;
  }
  return std::sqrt(sum);
}

}  // namespace feroma
