#include "algorithms/surrogates.h"

#include <cmath>
#include <numbers>

#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// Waves of a mean, and the most periods each has over a side.
constexpr int kWaves = 4;
constexpr double kFastest = 2.0;

/// One value per pixel; waves of random direction, speed and phase, each of mean square 1 / kWaves.
std::vector<double> smooth_mean(SampleShape shape, Rng rng) {
  std::vector<double> mean(static_cast<std::size_t>(shape.size()));
  const std::size_t plane = mean.size() / static_cast<std::size_t>(shape.channels);
  for (int channel = 0; channel < shape.channels; ++channel) {
    for (int wave = 0; wave < kWaves; ++wave) {
      const double across = rng.uniform(-kFastest, kFastest) / shape.width;
      const double down = rng.uniform(-kFastest, kFastest) / shape.height;
      const double phase = rng.uniform();
      for (std::size_t i = 0; i < plane; ++i) {
        const auto x = static_cast<double>(i % static_cast<std::size_t>(shape.width));
        const auto y = static_cast<double>(i / static_cast<std::size_t>(shape.width));
        mean[static_cast<std::size_t>(channel) * plane + i] +=
            std::sqrt(2.0 / kWaves) * portable_cos(2 * std::numbers::pi * (across * x + down * y + phase));
      }
    }
  }
  return mean;
}

}  // namespace

Surrogates make_surrogates(SampleShape shape, int classes, int per_class, double noise, const Rng& rng) {
  Surrogates made;
  for (int label = 0; label < classes; ++label) {
    const std::vector<double> mean = smooth_mean(shape, rng.derive("mean", static_cast<std::uint64_t>(label)));
    Rng draws = rng.derive("noise", static_cast<std::uint64_t>(label));
    for (int i = 0; i < per_class; ++i) {
      made.labels.push_back(label);
      for (const double value : mean) {
        made.rows.push_back(static_cast<float>(value + noise * draws.normal()));
      }
    }
  }
  return made;
}

Surrogates SurrogateStream::next(int count) {
  Surrogates drawn;
  for (int i = 0; i < count; ++i) {
    if (at_ == order_.size()) {
      order_ = rng_.permutation(all_.labels.size());
      at_ = 0;
    }
    const std::size_t item = order_[at_++];
    const auto row = all_.rows.begin() + static_cast<std::ptrdiff_t>(item * row_size_);
    drawn.rows.insert(drawn.rows.end(), row, row + static_cast<std::ptrdiff_t>(row_size_));
    drawn.labels.push_back(all_.labels[item]);
  }
  return drawn;
}

}  // namespace feroma
