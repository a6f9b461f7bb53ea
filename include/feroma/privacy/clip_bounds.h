#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "feroma/privacy/record_sums.h"

namespace feroma {

/// Where records are clipped: their coordinates less `centre`, over `scale`, are within the shape's box or ball. Public
/// values: privacy holds for any of them, profiles are only the better the closer they fit.
struct ClipBounds {
  std::vector<float> centre;
  std::vector<float> scale;
};

/// Bounds for a projection of `width` unit-length latents to the shape's coordinates, whatever the data.
[[nodiscard]] ClipBounds fixed_bounds(const SumShape& shape, int width);
/// Bounds for records of norm `radius`.
[[nodiscard]] ClipBounds bounds_of_radius(const SumShape& shape, double radius);

/// Bounds around where released sums say that records are, as wide as they spread. What was released is public, so this
/// costs no budget.
[[nodiscard]] ClipBounds recentred(const SumShape& shape, const ClipBounds& bounds,
                                   std::span<const std::vector<std::int64_t>> releases);

/// What is known of a record's labels: those it has, in rising order; none where it has none or nobody knows.
using RecordLabels = std::vector<int>;
/// Sums over records (rows of the shape's coordinates) within the bounds. Unlabelled records count as class 0 of one.
[[nodiscard]] std::vector<std::int64_t> sums_of(const SumShape& shape, const ClipBounds& bounds,
                                                std::span<const float> rows, std::span<const RecordLabels> labels);

/// Bins of norms: bin j holds those from 2^((j - 32) / 2) on, the first and the last everything beyond.
inline constexpr std::size_t kNormBins = 64;
using NormHistogram = std::array<std::int64_t, kNormBins>;
/// How many rows of `width` coordinates have which norm; what is not finite has norm 0.
[[nodiscard]] NormHistogram norm_histogram(std::span<const float> rows, int width);
/// The norm that `quantile` of all records do not exceed, by noisy histograms; 1 where they hold nothing but noise.
[[nodiscard]] double norm_quantile(std::span<const std::vector<std::int64_t>> histograms, double quantile);

}  // namespace feroma
