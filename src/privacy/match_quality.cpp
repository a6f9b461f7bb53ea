#include "feroma/privacy/match_quality.h"

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/core/rng.h"

namespace feroma {
namespace {

constexpr std::size_t kGroups = 4;
constexpr std::size_t kKnown = 20;
constexpr int kWorlds = 60;
constexpr double kTau = 0.1;                                  // how soft noisy coordinates are weighed down
constexpr double kReference = 0.228;                          // spread of a coordinate in the same data
constexpr GroupSpread kSampling{0.012, 0.009, 0.021, 0.011};  // of 300 records
constexpr double kSamplingRecords = 300;

/// Coordinates of one kind: how much groups, samples and noise move them.
struct Part {
  int coordinates = 0;
  double group = 0;
  double sample = 0;
  double noise = 0;
};

std::array<Part, 4> parts_of(const SumShape& shape, double noise, double records, const GroupSpread& groups) {
  const double fewer = std::sqrt(kSamplingRecords / records);
  const double sums = noise / (shape.sum * kFixedPoint);
  const double squares = noise / (shape.square * kFixedPoint) / (2 * kReference);
  const double classes = shape.classes;
  const double marginal = std::sqrt(classes) / records;
  const double single = classes / records;
  const int all = shape.coordinates * shape.classes;
  return {{{shape.coordinates, groups.marginal_mean, kSampling.marginal_mean * fewer, sums * marginal},
           {shape.coordinates, groups.marginal_spread, kSampling.marginal_spread * fewer, squares * marginal},
           {all, groups.class_mean, kSampling.class_mean * fewer, sums * single},
           {all, groups.class_spread, kSampling.class_spread * fewer, squares * single}}};
}

using Points = std::vector<std::vector<double>>;

Points around(const Points& centres, std::span<const Part> parts, std::size_t count, Rng& rng) {
  Points points;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> point = centres[k % kGroups];
    std::size_t i = 0;
    for (const Part& part : parts) {
      const double spread = std::hypot(part.sample, part.noise);
      for (int c = 0; c < part.coordinates; ++c, ++i) {
        point[i] += spread * rng.normal();
      }
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace

double expected_match(const SumShape& shape, double noise, std::int64_t records, const GroupSpread& groups) {
  require(records >= shape.classes && noise >= 0, ErrorCode::invalid_config,
          "[privacy] a profile needs at least one record per class and noise >= 0, got {} and {}", records, noise);
  const auto parts = parts_of(shape, noise, static_cast<double>(records), groups);
  std::vector<double> weights;
  for (const Part& part : parts) {
    for (int c = 0; c < part.coordinates; ++c) {
      weights.push_back(1 / (1 + 2 * part.noise * part.noise / (kTau * kTau)));
    }
  }
  Rng rng(1);
  std::size_t right = 0;
  for (int world = 0; world < kWorlds; ++world) {
    Points centres(kGroups);
    for (std::vector<double>& centre : centres) {
      for (const Part& part : parts) {
        for (int c = 0; c < part.coordinates; ++c) {
          centre.push_back(part.group * rng.normal());
        }
      }
    }
    const Points known = around(centres, parts, kKnown, rng);
    const Points queries = around(centres, parts, kKnown, rng);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      std::size_t nearest = 0;
      double best = std::numeric_limits<double>::infinity();
      for (std::size_t k = 0; k < known.size(); ++k) {
        double squared = 0;
        for (std::size_t i = 0; i < weights.size(); ++i) {
          const double off = queries[q][i] - known[k][i];
          squared += weights[i] * off * off;
        }
        if (squared < best) {
          best = squared;
          nearest = k;
        }
      }
      right += nearest % kGroups == q % kGroups ? 1U : 0U;
    }
  }
  return static_cast<double>(right) / (kWorlds * static_cast<double>(kKnown));
}

}  // namespace feroma
