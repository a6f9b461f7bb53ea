#include "algorithms/amplitude_mix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/dense.h"
#include "feroma/core/portable_math.h"

namespace feroma {
namespace {

/// An amplitude this small has no phase.
constexpr float kSilent = 1e-12F;

/// cos(2 pi (i j / size - shift)), from an angle within one turn.
float wave(std::size_t i, std::size_t j, std::size_t size, double shift) {
  const double turns = static_cast<double>(i * j % size) / static_cast<double>(size) - shift;
  return static_cast<float>(portable_cos(2 * std::numbers::pi * turns));
}
float cosine(std::size_t i, std::size_t j, std::size_t size) { return wave(i, j, size, 0); }
float sine(std::size_t i, std::size_t j, std::size_t size) { return wave(i, j, size, 0.25); }

}  // namespace

AmplitudeMix::AmplitudeMix(SampleShape shape)
    : height_(static_cast<std::size_t>(shape.height)),
      width_(static_cast<std::size_t>(shape.width)),
      kept_(width_ / 2 + 1),
      rows_(width_ * 2 * kept_),
      rows_back_(rows_.size()),
      columns_(4 * height_ * height_),
      columns_back_(columns_.size()) {
  const auto scale = static_cast<float>(1.0 / static_cast<double>(width_ * height_));
  for (std::size_t x = 0; x < width_; ++x) {
    for (std::size_t k = 0; k < kept_; ++k) {
      // Columns in the middle stand for their mirror images too.
      const float both = k == 0 || 2 * k == width_ ? scale : 2 * scale;
      rows_[x * 2 * kept_ + k] = cosine(x, k, width_);
      rows_[x * 2 * kept_ + kept_ + k] = -sine(x, k, width_);
      rows_back_[k * width_ + x] = both * cosine(x, k, width_);
      rows_back_[(kept_ + k) * width_ + x] = -both * sine(x, k, width_);
    }
  }
  const std::size_t line = 2 * height_;
  for (std::size_t y = 0; y < height_; ++y) {
    for (std::size_t k = 0; k < height_; ++k) {
      const float c = cosine(y, k, height_);
      const float s = sine(y, k, height_);
      // (re + i im)(c - i s) forth, (re + i im)(c + i s) back.
      columns_[y * line + k] = columns_back_[y * line + k] = c;
      columns_[(y + height_) * line + k + height_] = columns_back_[(y + height_) * line + k + height_] = c;
      columns_[y * line + k + height_] = columns_back_[(y + height_) * line + k] = s;
      columns_[(y + height_) * line + k] = columns_back_[y * line + k + height_] = -s;
    }
  }
}

/// [real parts by row, imaginary parts by row][plane][kept column] of planes [plane][row][column].
std::vector<float> AmplitudeMix::spectrum(std::span<const float> planes) const {
  const std::size_t count = planes.size() / (height_ * width_);
  const std::vector<float> by_row = multiply(planes, rows_, width_);  // [plane][row][real, imaginary][column]
  std::vector<float> turned(by_row.size());
  for (std::size_t plane = 0; plane < count; ++plane) {
    for (std::size_t part = 0; part < 2 * height_; ++part) {
      const std::size_t from = ((plane * height_ + part % height_) * 2 + part / height_) * kept_;
      const std::size_t to = (part * count + plane) * kept_;
      std::copy_n(by_row.begin() + static_cast<std::ptrdiff_t>(from), kept_,
                  turned.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  return multiply(columns_, turned, 2 * height_);
}

std::vector<float> AmplitudeMix::planes(std::span<const float> spectrum) const {
  const std::size_t count = spectrum.size() / (2 * height_ * kept_);
  const std::vector<float> turned = multiply(columns_back_, spectrum, 2 * height_);
  std::vector<float> by_row(turned.size());
  for (std::size_t plane = 0; plane < count; ++plane) {
    for (std::size_t part = 0; part < 2 * height_; ++part) {
      const std::size_t to = ((plane * height_ + part % height_) * 2 + part / height_) * kept_;
      const std::size_t from = (part * count + plane) * kept_;
      std::copy_n(turned.begin() + static_cast<std::ptrdiff_t>(from), kept_,
                  by_row.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  return multiply(by_row, rows_back_, 2 * kept_);
}

std::vector<float> AmplitudeMix::operator()(std::span<const float> pictures, std::span<const std::uint32_t> partners,
                                            std::span<const double> shares) const {
  std::vector<float> values = spectrum(pictures);
  const std::size_t half = values.size() / 2;
  const std::size_t line = half / height_;  // a row of all planes
  const std::size_t picture = line / partners.size();
  std::vector<float> amplitudes(half);
  for (std::size_t i = 0; i < half; ++i) {
    amplitudes[i] = std::sqrt(values[i] * values[i] + values[half + i] * values[half + i]);
  }
  for (std::size_t block = 0; block < height_ * partners.size(); ++block) {  // a row of one picture's planes
    const std::size_t index = block % partners.size();
    const auto share = static_cast<float>(shares[index]);
    const std::size_t first = block * picture;
    const float* const other = amplitudes.data() + (block - index + partners[index]) * picture;
    for (std::size_t j = 0; j < picture; ++j) {
      const float own = amplitudes[first + j];
      const float factor = own > kSilent ? 1.0F - share + share * other[j] / own : 1.0F;
      values[first + j] = values[first + j] * factor + (own > kSilent ? 0.0F : share * other[j]);
      values[half + first + j] *= factor;
    }
  }
  std::vector<float> mixed = planes(values);
  const auto [low, high] = std::minmax_element(pictures.begin(), pictures.end());
  for (float& value : mixed) {
    value = std::clamp(value, *low, *high);
  }
  return mixed;
}

}  // namespace feroma
