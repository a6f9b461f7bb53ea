#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/error.h"
#include "feroma/data/view.h"
#include "feroma/models/parameters.h"
#include "feroma/models/spec.h"
#include "tests/places.h"

namespace feroma {

/// The values of tests/golden/<name>.npy (version 1, C order), which must hold elements of T.
template <class T>
std::vector<T> golden_values(const std::string& name, std::string_view descr) {
  const std::filesystem::path path = test::golden_file(name + ".npy");
  std::ifstream file(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  require(bytes.size() > 10 && bytes.substr(0, 8) == std::string("\x93NUMPY\x01\x00", 8), ErrorCode::invalid_data,
          "{}: not an npy file of version 1", path.string());
  const std::size_t header = 10U + static_cast<unsigned char>(bytes[8]) + 256U * static_cast<unsigned char>(bytes[9]);
  require(header <= bytes.size() && bytes.substr(0, header).find(descr) != std::string::npos, ErrorCode::invalid_data,
          "{}: must hold {}", path.string(), descr);
  std::vector<T> values((bytes.size() - header) / sizeof(T));
  std::memcpy(values.data(), bytes.data() + header, values.size() * sizeof(T));
  return values;
}

inline std::vector<float> golden_floats(const std::string& name) { return golden_values<float>(name, "'<f4'"); }
inline std::vector<double> golden_doubles(const std::string& name) { return golden_values<double>(name, "'<f8'"); }

/// The first 600 MNIST test pictures.
inline const Samples& golden_samples() {
  static const Samples samples = [] {
    const std::vector<std::uint8_t> labels = golden_values<std::uint8_t>("mnist600_y", "'|u1'");
    Samples pictures;
    pictures.shape = {1, 28, 28};
    pictures.pixels = golden_values<std::uint8_t>("mnist600_x_u8", "'|u1'");
    pictures.labels.assign(labels.begin(), labels.end());
    return pictures;
  }();
  return samples;
}

/// Recipe i mod 12: picture i turns by 90 (i mod 4) degrees; i mod 3 = 1 saturates channel 0, 2 saturates channel 2.
inline const std::vector<Recipe>& golden_recipes() {
  static const std::vector<Recipe> recipes = [] {
    std::vector<Recipe> all;
    for (int i = 0; i < 12; ++i) {
      const int tint = i % 3 == 0 ? -1 : 2 * (i % 3 - 1);
      all.push_back({std::vector<Transform>(10, Transform{i % 4, tint}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}});
    }
    return all;
  }();
  return recipes;
}

/// All 600 pictures as the reference saw them, in order.
inline View golden_batch_view() {
  View view{&golden_samples(), golden_recipes(), {3, 28, 28}, {}};
  for (std::uint32_t i = 0; i < golden_samples().count(); ++i) {
    view.items.push_back({i, i % 12});
  }
  return view;
}

/// What the formula makes of s = sin(0.37 i + 1.3 t): weights s / sqrt(fan_in), biases and running means 0.05 s, gains
/// 1 + 0.1 s, running variances 1 + 0.2 |s|; counters stay zero.
inline double formula_value(const Segment& segment, double s) {
  if (segment.name.ends_with(".num_batches_tracked")) {
    return 0;
  }
  if (segment.name.ends_with(".running_var")) {
    return 1 + 0.2 * std::abs(s);
  }
  if (segment.kind == SegmentKind::weight) {
    return s / std::sqrt(static_cast<double>(segment.size) / static_cast<double>(segment.shape.front()));
  }
  return segment.kind == SegmentKind::affine && segment.name.ends_with(".weight") ? 1 + 0.1 * s : 0.05 * s;
}

/// Weights anyone can rebuild: t is the tensor's position and i the flat index.
inline Parameters formula_parameters(const ModelSpec& spec) {
  Parameters params(make_layout(spec));
  for (std::size_t t = 0; t < params.layout().segments.size(); ++t) {
    const Segment& segment = params.layout().segments[t];
    for (std::size_t i = 0; i < segment.size; ++i) {
      const double s = std::sin(0.37 * static_cast<double>(i) + 1.3 * static_cast<double>(t));
      params.segment(t)[i] = static_cast<float>(formula_value(segment, s));
    }
  }
  return params;
}

/// The largest |a - b|; infinite where the lengths differ or one is not a number.
inline double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = a.size() == b.size() ? 0.0 : HUGE_VAL;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isnan(difference) ? HUGE_VAL : std::max(largest, difference);
  }
  return largest;
}

}  // namespace feroma
