#include "feroma/data/scale.h"

#include <cmath>
#include <cstdint>

namespace feroma {
namespace {

struct Sums {
  double sum = 0;
  double squares = 0;
};

/// Bytes are counted, so that their sums are exact whatever the order.
Sums sums_of_bytes(const Samples& samples, std::size_t first, std::size_t plane, std::size_t stride) {
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const std::uint8_t* const pixels = samples.pixels.data() + i * stride + first;
    std::uint32_t total = 0;
    std::uint64_t total_squares = 0;
    for (std::size_t p = 0; p < plane; ++p) {
      const std::uint32_t byte = pixels[p];
      total += byte;
      total_squares += byte * byte;
    }
    sum += total;
    squares += total_squares;
  }
  return {static_cast<double>(sum) / 255.0, static_cast<double>(squares) / (255.0 * 255.0)};
}

Sums sums_of_numbers(const Samples& samples, std::size_t first, std::size_t plane, std::size_t stride) {
  Sums sums;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    const float* const values = samples.values.data() + i * stride + first;
    for (std::size_t p = 0; p < plane; ++p) {
      sums.sum += static_cast<double>(values[p]);
      sums.squares += static_cast<double>(values[p]) * static_cast<double>(values[p]);
    }
  }
  return sums;
}

}  // namespace

std::vector<InputScale> standard_scales(const Samples& samples) {
  const auto stride = static_cast<std::size_t>(samples.shape.size());
  const auto plane = static_cast<std::size_t>(samples.shape.height * samples.shape.width);
  const double count = static_cast<double>(samples.count()) * static_cast<double>(plane);
  std::vector<InputScale> scales;
  for (std::size_t first = 0; first < stride && count > 0; first += plane) {
    const Sums sums = samples.values.empty() ? sums_of_bytes(samples, first, plane, stride)
                                             : sums_of_numbers(samples, first, plane, stride);
    const double mean = sums.sum / count;
    const double variance = sums.squares / count - mean * mean;
    // What is left of a variance this small is rounding.
    const double factor = variance > 1e-12 * (1.0 + mean * mean) ? 1.0 / std::sqrt(variance) : 1.0;
    scales.push_back({static_cast<float>(factor), static_cast<float>(-mean * factor)});
  }
  return scales;
}

}  // namespace feroma
