#include "feroma/privacy/clip_bounds.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"
#include "feroma/privacy/noisy_moments.h"

namespace feroma {
namespace {

/// Unit-length latents of `width` coordinates, projected to l of them, mostly have a norm below this times sqrt(l /
/// width).
constexpr double kProjectedNorm = 1.4;
/// A box around coordinates whose norm has this radius: each is within this times radius / sqrt(l).
constexpr double kBoxOfRadius = 1.1;
/// Re-centred bounds: a ball of this times the root of all variances, or a box of so many spreads.
constexpr double kBallOfSpread = 1.1;
constexpr double kBoxOfSpread = 1.5;
constexpr double kLeastScale = 1e-6;
/// Half-octaves below 1 that the histogram of norms begins at.
constexpr int kFirstHalfOctave = 32;

double bin_edge(double bin) { return std::exp2((bin - kFirstHalfOctave) / 2); }

std::vector<float> repeated(int count, double value) {
  return std::vector<float>(static_cast<std::size_t>(count), static_cast<float>(value));
}

}  // namespace

ClipBounds bounds_of_radius(const SumShape& shape, double radius) {
  const double scale =
      shape.clip == Clip::ball ? radius : kBoxOfRadius * radius / std::sqrt(static_cast<double>(shape.coordinates));
  return {repeated(shape.coordinates, 0), repeated(shape.coordinates, std::max(scale, kLeastScale))};
}

ClipBounds fixed_bounds(const SumShape& shape, int width) {
  return bounds_of_radius(shape, kProjectedNorm * std::sqrt(static_cast<double>(shape.coordinates) / width));
}

ClipBounds recentred(const SumShape& shape, const ClipBounds& bounds,
                     std::span<const std::vector<std::int64_t>> releases) {
  const PooledMoments pooled = pooled_moments(shape, releases);
  double total = 0;
  for (const double variance : pooled.variance) {
    total += std::max(variance, 0.0);
  }
  ClipBounds moved = bounds;
  for (std::size_t i = 0; i < bounds.centre.size(); ++i) {
    const double spread =
        shape.clip == Clip::ball ? kBallOfSpread * std::sqrt(total) : kBoxOfSpread * std::sqrt(pooled.variance[i]);
    const auto scale = static_cast<double>(bounds.scale[i]);
    moved.centre[i] = static_cast<float>(static_cast<double>(bounds.centre[i]) + scale * pooled.mean[i]);
    moved.scale[i] = static_cast<float>(std::max(scale * spread, kLeastScale));
  }
  return moved;
}

std::vector<std::int64_t> sums_of(const SumShape& shape, const ClipBounds& bounds, std::span<const float> rows,
                                  std::span<const RecordLabels> labels) {
  const auto width = static_cast<std::size_t>(shape.coordinates);
  const std::size_t records = rows.size() / width;
  const bool unlabelled = labels.empty() && shape.classes == 1;
  require(bounds.centre.size() == width && bounds.scale.size() == width && rows.size() % width == 0 &&
              (unlabelled || labels.size() == records),
          ErrorCode::internal, "[privacy] {} values and {} labels for records of {} coordinates", rows.size(),
          labels.size(), width);
  RecordSums sums(shape);
  std::vector<float> x(width);
  const RecordLabels only_class{0};
  for (std::size_t row = 0; row < records; ++row) {
    for (std::size_t i = 0; i < width; ++i) {
      x[i] = (rows[row * width + i] - bounds.centre[i]) / bounds.scale[i];
    }
    sums.add(x, unlabelled ? only_class : labels[row]);
  }
  return {sums.values().begin(), sums.values().end()};
}

NormHistogram norm_histogram(std::span<const float> rows, int width) {
  NormHistogram bins{};
  const auto size = static_cast<std::size_t>(width);
  for (std::size_t row = 0; row < rows.size() / size; ++row) {
    double squared = 0;
    for (const float value : rows.subspan(row * size, size)) {
      squared += static_cast<double>(value) * static_cast<double>(value);
    }
    // Half-octaves of the norm are octaves of its square.
    const double bin = std::isfinite(squared) && squared > 0 ? std::floor(std::log2(squared)) + kFirstHalfOctave : 0.0;
    bins[static_cast<std::size_t>(std::clamp(bin, 0.0, static_cast<double>(kNormBins - 1)))] += 1;
  }
  return bins;
}

double norm_quantile(std::span<const std::vector<std::int64_t>> histograms, double quantile) {
  std::array<double, kNormBins> counts{};
  double total = 0;
  for (std::size_t bin = 0; bin < kNormBins; ++bin) {
    std::int64_t sum = 0;
    for (const auto& histogram : histograms) {
      sum += histogram.at(bin);
    }
    counts[bin] = static_cast<double>(std::max<std::int64_t>(sum, 0));  // below 0 it is noise
    total += counts[bin];
  }
  double below = 0;
  for (std::size_t bin = 0; bin < kNormBins; ++bin) {
    if (counts[bin] > 0 && below + counts[bin] >= quantile * total) {
      return bin_edge(static_cast<double>(bin) + (quantile * total - below) / counts[bin]);
    }
    below += counts[bin];
  }
  return 1;
}

}  // namespace feroma
