#include "data/sample_arrays.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "feroma/core/error.h"

namespace feroma::detail {
namespace {

constexpr std::int64_t kMaxSide = 1 << 20;

SampleShape shape_of_rows(const NpyArray& inputs, std::optional<SampleShape> wanted) {
  const std::vector<std::int64_t>& dims = inputs.shape;
  require(dims.size() >= 2, ErrorCode::invalid_data,
          "[npy] {}: inputs must have 2 to 4 dimensions, samples first, got {}", inputs.name, dims.size());
  std::int64_t row = 1;
  for (std::size_t i = 1; i < dims.size(); ++i) {
    require(dims[i] >= 1 && dims[i] <= kMaxSide && row * dims[i] <= kMaxSide, ErrorCode::invalid_data,
            "[npy] {}: a sample must have 1..{} values, got dimension {} of {}", inputs.name, kMaxSide, i, dims[i]);
    row *= dims[i];
  }
  if (wanted) {
    require(wanted->size() == row, ErrorCode::invalid_data,
            "[npy] {}: samples must have the {} values of shape {}x{}x{}, got {}", inputs.name, wanted->size(),
            wanted->channels, wanted->height, wanted->width, row);
    return *wanted;
  }
  const auto side = [&](std::size_t from_end) {
    return dims.size() > from_end ? static_cast<int>(dims[dims.size() - from_end]) : 1;
  };
  return {.channels = side(3), .height = side(2), .width = side(1)};
}

std::vector<std::uint8_t> multi_targets(const NpyArray& labels, std::size_t count, int classes) {
  require(labels.shape[0] == static_cast<std::int64_t>(count) && labels.shape[1] == classes, ErrorCode::invalid_data,
          "[npy] {}: labels must be {} x {} (samples x classes), got {} x {}", labels.name, count, classes,
          labels.shape[0], labels.shape[1]);
  std::vector<std::uint8_t> targets;
  targets.reserve(count * static_cast<std::size_t>(classes));
  for (const double value : labels.to_doubles()) {
    require(value == 0 || value == 1, ErrorCode::invalid_data, "[npy] {}: labels must be 0 or 1, got {} in row {}",
            labels.name, value, targets.size() / static_cast<std::size_t>(classes));
    targets.push_back(value == 1 ? 1 : 0);
  }
  return targets;
}

void fill_inputs(Samples& samples, const NpyArray& inputs) {
  if (const auto* bytes = std::get_if<std::vector<std::uint8_t>>(&inputs.values)) {
    samples.pixels = *bytes;
    return;
  }
  if (const auto* floats = std::get_if<std::vector<float>>(&inputs.values)) {
    samples.values = *floats;
    return;
  }
  for (const double value : inputs.to_doubles()) {
    samples.values.push_back(static_cast<float>(value));
  }
}

}  // namespace

std::vector<std::int32_t> whole_numbers(const NpyArray& array, std::size_t count, std::int64_t below,
                                        std::string_view what) {
  require(array.shape.size() == 1 && array.shape[0] == static_cast<std::int64_t>(count), ErrorCode::invalid_data,
          "[npy] {}: {} must be one per sample ({}), got {} dimensions and {} values", array.name, what, count,
          array.shape.size(), array.shape.empty() ? 1 : array.shape[0]);
  std::vector<std::int32_t> out;
  out.reserve(count);
  for (const double value : array.to_doubles()) {
    require(value >= 0 && value < static_cast<double>(below) && value == std::floor(value), ErrorCode::invalid_data,
            "[npy] {}: {} must be whole numbers in 0..{}, got {} in row {}", array.name, what, below - 1, value,
            out.size());
    out.push_back(static_cast<std::int32_t>(value));
  }
  return out;
}

SampleShape parse_shape(std::string_view text, std::string_view key) {
  std::array<int, 3> sides{};
  const char* at = text.data();
  const char* end = text.data() + text.size();
  bool good = true;
  for (std::size_t i = 0; i < sides.size() && good; ++i) {
    if (i > 0) {
      good = at != end && *at++ == 'x';
    }
    const auto [rest, error] = std::from_chars(at, end, sides[i]);
    good = good && error == std::errc() && sides[i] >= 1 && sides[i] <= kMaxSide;
    at = rest;
  }
  require(good && at == end && std::int64_t{sides[0]} * sides[1] <= kMaxSide &&
              std::int64_t{sides[0]} * sides[1] * sides[2] <= kMaxSide,
          ErrorCode::invalid_config,
          "{} must be CHANNELSxHEIGHTxWIDTH with at most {} values, like 1x28x28, got \"{}\"", key, kMaxSide, text);
  return {.channels = sides[0], .height = sides[1], .width = sides[2]};
}

Samples to_samples(const SampleArrays& arrays, std::optional<SampleShape> shape, int classes) {
  const NpyArray& inputs = *arrays.inputs;
  Samples samples;
  samples.shape = shape_of_rows(inputs, shape);
  const auto count = static_cast<std::size_t>(inputs.shape[0]);
  require(count > 0, ErrorCode::invalid_data, "[npy] {}: must have at least one sample, got 0", inputs.name);
  fill_inputs(samples, inputs);
  if (arrays.labels->shape.size() == 2) {
    samples.targets = multi_targets(*arrays.labels, count, classes);
    samples.labels.assign(count, 0);
  } else {
    samples.labels = whole_numbers(*arrays.labels, count, classes, "labels");
  }
  constexpr std::int64_t kAnyId = std::numeric_limits<std::int32_t>::max();
  if (arrays.domains != nullptr) {
    samples.domains = whole_numbers(*arrays.domains, count, kAnyId, "domains");
  }
  if (arrays.owners != nullptr) {
    samples.owners = whole_numbers(*arrays.owners, count, kAnyId, "owners");
  }
  return samples;
}

}  // namespace feroma::detail
