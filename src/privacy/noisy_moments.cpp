#include "feroma/privacy/noisy_moments.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/privacy/release.h"

namespace feroma {
namespace {

constexpr double kLeastSpread = 0.05;
constexpr double kPresent = 2;
/// One record has no spread.
constexpr double kFewestRecords = 1.5;

/// Counts, sums and sums of squares of one block, or of all blocks together.
struct BlockSums {
  double count = 0;
  std::vector<double> sum;
  std::vector<double> square;  ///< of x^2 less the offset
};

BlockSums block_sums(const SumShape& shape, std::span<const std::int64_t> released, std::size_t block) {
  const auto l = static_cast<std::size_t>(shape.coordinates);
  const auto values = released.subspan(block * shape.block_size(), shape.block_size());
  BlockSums sums{static_cast<double>(values[0]) / (shape.count * kFixedPoint), std::vector<double>(l),
                 std::vector<double>(l)};
  for (std::size_t i = 0; i < l; ++i) {
    sums.sum[i] = static_cast<double>(values[1 + i]) / (shape.sum * kFixedPoint);
    sums.square[i] = static_cast<double>(values[1 + l + i]) / (shape.square * kFixedPoint);
  }
  return sums;
}

/// Everybody's records: the last block where there is one for them, else all classes together.
BlockSums marginal_sums(const SumShape& shape, std::span<const std::int64_t> released) {
  if (shape.has_marginal_block()) {
    return block_sums(shape, released, static_cast<std::size_t>(shape.classes));
  }
  BlockSums total = block_sums(shape, released, 0);
  for (std::size_t block = 1; block < shape.blocks(); ++block) {
    const BlockSums sums = block_sums(shape, released, block);
    total.count += sums.count;
    for (std::size_t i = 0; i < sums.sum.size(); ++i) {
      total.sum[i] += sums.sum[i];
      total.square[i] += sums.square[i];
    }
  }
  return total;
}

NoisyMoments moments_of(const SumShape& shape, const BlockSums& sums, double noise, std::span<const double> reference) {
  const double count_noise = noise / (shape.count * kFixedPoint);
  NoisyMoments moments;
  moments.count = std::max({sums.count, 2 * count_noise, 1.0});
  moments.count_noise = count_noise;
  moments.present = sums.count > std::max(kPresent * count_noise, kFewestRecords);
  // Each moment is a quotient: what it takes from the noise of its sum, and from that of the count below it.
  const double mean_noise = noise / (shape.sum * kFixedPoint) / moments.count;
  const double square_noise = noise / (shape.square * kFixedPoint) / moments.count;
  const double divisor_noise = count_noise / moments.count;
  for (std::size_t i = 0; i < sums.sum.size(); ++i) {
    const double mean = sums.sum[i] / moments.count;
    const double squares = sums.square[i] / moments.count;
    const double noise_of_mean = mean_noise * mean_noise;
    // The last term removes the bias of mean^2.
    const double variance = squares + shape.offset() - mean * mean + noise_of_mean;
    const double by_divisor = (2 * mean * mean - squares) * divisor_noise;
    moments.mean.push_back(mean);
    moments.mean_noise.push_back(noise_of_mean + mean * mean * divisor_noise * divisor_noise);
    moments.variance.push_back(variance);
    moments.spread.push_back(variance / (2 * reference[i]) + reference[i] / 2);
    moments.spread_noise.push_back((square_noise * square_noise + 4 * mean * mean * noise_of_mean +
                                    2 * noise_of_mean * noise_of_mean + by_divisor * by_divisor) /
                                   (4 * reference[i] * reference[i]));
  }
  return moments;
}

void check_size(const SumShape& shape, std::size_t size) {
  require(size == shape.size(), ErrorCode::invalid_data, "[privacy] a release must have {} sums, got {}", shape.size(),
          size);
}

}  // namespace

NoisyStatistics read_statistics(const SumShape& shape, std::span<const std::int64_t> released, double noise,
                                std::span<const double> reference) {
  check_size(shape, released.size());
  require(reference.size() == static_cast<std::size_t>(shape.coordinates), ErrorCode::internal,
          "[privacy] {} reference spreads for {} coordinates", reference.size(), shape.coordinates);
  NoisyStatistics statistics;
  for (std::size_t u = 0; u < static_cast<std::size_t>(shape.classes); ++u) {
    statistics.classes.push_back(moments_of(shape, block_sums(shape, released, u), noise, reference));
  }
  const double summed = shape.has_marginal_block() ? 1.0 : std::sqrt(static_cast<double>(shape.classes));
  statistics.marginal = moments_of(shape, marginal_sums(shape, released), noise * summed, reference);
  return statistics;
}

PooledMoments pooled_moments(const SumShape& shape, std::span<const std::vector<std::int64_t>> releases) {
  const auto l = static_cast<std::size_t>(shape.coordinates);
  BlockSums total{0, std::vector<double>(l), std::vector<double>(l)};
  for (const std::vector<std::int64_t>& released : releases) {
    check_size(shape, released.size());
    const BlockSums sums = marginal_sums(shape, released);
    total.count += sums.count;
    for (std::size_t i = 0; i < l; ++i) {
      total.sum[i] += sums.sum[i];
      total.square[i] += sums.square[i];
    }
  }
  const double count = std::max(total.count, 1.0);
  PooledMoments pooled;
  for (std::size_t i = 0; i < l; ++i) {
    const double mean = total.sum[i] / count;
    pooled.mean.push_back(mean);
    pooled.variance.push_back(
        std::max(total.square[i] / count + shape.offset() - mean * mean, kLeastSpread * kLeastSpread));
  }
  return pooled;
}

double release_noise(const SumShape& shape, Neighbours neighbours, double cost) {
  const std::int64_t reach = sensitivity(shape, neighbours);
  if (shape.clip == Clip::ball) {
    return std::sqrt(static_cast<double>(gaussian_variance(reach, cost)));
  }
  const LaplaceScale scale = laplace_scale(reach, cost);
  return std::sqrt(2.0) * static_cast<double>(scale.scale) / static_cast<double>(scale.denominator);
}

}  // namespace feroma
