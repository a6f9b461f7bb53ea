#include "feroma/privacy/record_sums.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr double kLargestBound = 1024;
constexpr int kMostLabels = 1000;

std::int64_t fixed(double value) { return static_cast<std::int64_t>(std::nearbyint(value * kFixedPoint)); }

/// Coordinates within the bounds, whatever came in.
std::vector<double> clipped(const SumShape& shape, std::span<const float> coordinates) {
  std::vector<double> x(coordinates.begin(), coordinates.end());
  if (!std::all_of(x.begin(), x.end(), [](double value) { return std::isfinite(value); })) {
    std::fill(x.begin(), x.end(), 0.0);
  }
  if (shape.clip == Clip::box) {
    for (double& value : x) {
      value = std::clamp(value, -1.0, 1.0);
    }
    return x;
  }
  double squared = 0;
  for (const double value : x) {
    squared += value * value;
  }
  const double shrink = squared > 1 ? 1 / std::sqrt(squared) : 1.0;
  for (double& value : x) {
    value *= shrink;
  }
  return x;
}

/// The largest norm of a record's block before it is rounded.
double real_bound(const SumShape& shape) {
  const double l = shape.coordinates;
  if (shape.clip == Clip::box) {
    return shape.count + l / 2 * (shape.square + shape.sum + shape.sum * shape.sum / (4 * shape.square));
  }
  return std::sqrt(shape.count * shape.count + shape.sum * shape.sum + shape.square * shape.square * (1 - 1 / l));
}

}  // namespace

double SumShape::offset() const {
  const double ratio = sum / square;
  return clip == Clip::box ? (1 + ratio - ratio * ratio / 4) / 2 : 1.0 / coordinates;
}

SumShape box_shape(int coordinates, int classes) { return {coordinates, classes, 1, false, Clip::box, 1, 1, 1}; }

std::int64_t block_bound(const SumShape& shape) {
  require(shape.coordinates >= 1 && shape.classes >= 1 && shape.labels >= 1 && (shape.multi_label || shape.labels == 1),
          ErrorCode::internal, "[privacy] sums need coordinates, classes and labels, got {}, {} and {}",
          shape.coordinates, shape.classes, shape.labels);
  // The bounds are proven for these weights only.
  require(shape.count > 0 && shape.sum > 0 && shape.square > 0 &&
              (shape.clip == Clip::box ? shape.sum <= 2 * shape.square
                                       : shape.coordinates >= 2 || shape.sum >= shape.square),
          ErrorCode::invalid_config,
          "[privacy] weights must be above 0, and that of sums at most twice that of squares"
          " (pure) or at least that of squares (gaussian, one coordinate), got {}, {}, {}",
          shape.count, shape.sum, shape.square);
  const auto entries = static_cast<double>(shape.block_size());
  // Squares and their sums over labels stay far below what 64 bits hold.
  require(real_bound(shape) <= kLargestBound && shape.labels <= kMostLabels, ErrorCode::invalid_config,
          "[privacy] weights must keep a record's block within {} and labels within {}, got {} and {}", kLargestBound,
          kMostLabels, real_bound(shape), shape.labels);
  // Rounding moves each entry by a half at most.
  if (shape.clip == Clip::box) {
    return static_cast<std::int64_t>(std::floor(kFixedPoint * real_bound(shape) + entries / 2)) + 1;
  }
  const auto norm = static_cast<std::int64_t>(std::floor(kFixedPoint * real_bound(shape) + std::sqrt(entries) / 2)) + 1;
  return norm * norm;
}

std::int64_t sensitivity(const SumShape& shape, Neighbours neighbours) {
  const std::int64_t bound = block_bound(shape);
  const std::int64_t touched = shape.has_marginal_block() ? shape.labels + 1 : 1;
  if (neighbours == Neighbours::add_remove) {
    return touched * bound;
  }
  if (shape.clip == Clip::box) {
    return 2 * touched * bound;
  }
  if (shape.has_marginal_block()) {
    return 4 * touched * bound;  // twice the distance
  }
  // Other classes touch other entries; within one class the counts cancel.
  const std::int64_t count = fixed(shape.count);
  return std::max(2 * bound, 4 * (bound - count * count));
}

std::vector<std::int64_t> block_of(const SumShape& shape, std::span<const float> coordinates) {
  require(coordinates.size() == static_cast<std::size_t>(shape.coordinates), ErrorCode::internal,
          "[privacy] a record must have {} coordinates, got {}", shape.coordinates, coordinates.size());
  const std::vector<double> x = clipped(shape, coordinates);
  std::vector<std::int64_t> block{fixed(shape.count)};
  for (const double value : x) {
    block.push_back(fixed(shape.sum * value));
  }
  for (const double value : x) {
    block.push_back(fixed(shape.square * (value * value - shape.offset())));
  }
  return block;
}

bool within_bound(const SumShape& shape, std::span<const std::int64_t> block) {
  std::int64_t norm = 0;
  for (const std::int64_t value : block) {
    norm += shape.clip == Clip::box ? std::abs(value) : value * value;
  }
  return norm <= block_bound(shape);
}

void RecordSums::add(std::span<const float> coordinates, std::span<const int> labels) {
  std::vector<std::int64_t> block = block_of(shape_, coordinates);
  if (!within_bound(shape_, block)) {
    std::fill(block.begin() + 1, block.end(), 0);
  }
  const auto enter = [&](std::size_t index) {
    for (std::size_t i = 0; i < block.size(); ++i) {
      values_[index * block.size() + i] += block[i];
    }
  };
  const std::size_t kept = std::min(labels.size(), static_cast<std::size_t>(shape_.labels));
  for (const int label : labels.first(kept)) {
    require(label >= 0 && label < shape_.classes, ErrorCode::internal, "[privacy] a label must be in 0..{}, got {}",
            shape_.classes - 1, label);
    enter(static_cast<std::size_t>(label));
  }
  if (shape_.has_marginal_block()) {
    enter(static_cast<std::size_t>(shape_.classes));
  }
}

}  // namespace feroma
