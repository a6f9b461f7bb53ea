#include "net/flower_tensors.h"

#include <cmath>

#include "feroma/core/error.h"
#include "feroma/core/npy.h"

namespace feroma::net {
namespace {

constexpr std::string_view kTensorType = "numpy.ndarray";
/// Room for what a message has besides tensors, and for the header of a .npy file.
constexpr std::size_t kSmallParts = std::size_t{64} << 10;
constexpr std::size_t kLongestHeader = std::size_t{4} << 10;
/// Digits, sign, exponent and comma of a number in a list.
constexpr std::size_t kLongestNumber = 32;

/// How often a batch-norm layer was trained; PyTorch has it as an integer without dimensions.
bool is_counter(const Segment& segment) { return segment.size == 1 && segment.name.ends_with("num_batches_tracked"); }

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t size : shape) {
    text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  }
  return text.empty() ? "a single number" : text;
}

void read_tensor(const std::string& tensor, const Segment& segment, std::span<float> into, const std::string& name) {
  require(tensor.size() <= segment.size * sizeof(double) + kLongestHeader, ErrorCode::invalid_data,
          "{} must have at most {} bytes, got {}", name, segment.size * sizeof(double) + kLongestHeader, tensor.size());
  const NpyArray array = parse_npy(std::as_bytes(std::span(tensor)), name, NpyOrder::any);
  const bool fits = array.shape == segment.shape || (is_counter(segment) && array.shape.empty());
  require(fits, ErrorCode::invalid_data, "{} must be {}, got {}", name, shape_text(segment.shape),
          shape_text(array.shape));
  const std::string type = array.type_name();
  require(type.starts_with("f") || (is_counter(segment) && type.starts_with("i")), ErrorCode::invalid_data,
          "{} must be of type f4 or f8, got {}", name, type);
  const std::vector<double> values = array.to_doubles();
  for (std::size_t i = 0; i < into.size(); ++i) {
    into[i] = static_cast<float>(values[i]);
    require(std::isfinite(into[i]), ErrorCode::invalid_data, "{} must be finite, got {}", name, values[i]);
  }
}

}  // namespace

flower::Parameters to_flower(const Parameters& model) {
  flower::Parameters tensors;
  tensors.set_tensor_type(std::string(kTensorType));
  for (std::size_t i = 0; i < model.layout().segments.size(); ++i) {
    const Segment& segment = model.layout().segments[i];
    const Bytes file =
        is_counter(segment) ? npy_bytes(model.segment(i), {}) : npy_bytes(model.segment(i), segment.shape);
    tensors.add_tensors(file.data(), file.size());
  }
  return tensors;
}

Parameters from_flower(const flower::Parameters& tensors, const std::shared_ptr<const ParamLayout>& layout,
                       const std::string& what) {
  require(tensors.tensor_type() == kTensorType, ErrorCode::invalid_data, "{}: tensors must be of type {}, got \"{}\"",
          what, kTensorType, tensors.tensor_type().substr(0, 40));
  require(static_cast<std::size_t>(tensors.tensors_size()) == layout->segments.size(), ErrorCode::invalid_data,
          "{}: the model has {} tensors, got {}", what, layout->segments.size(), tensors.tensors_size());
  Parameters model(layout);
  for (std::size_t i = 0; i < layout->segments.size(); ++i) {
    const Segment& segment = layout->segments[i];
    read_tensor(tensors.tensors(static_cast<int>(i)), segment, model.segment(i),
                fmt::format("{}: tensor {} ({})", what, i, segment.name));
  }
  return model;
}

std::size_t largest_flower_message(const ParamLayout& layout, std::size_t numbers) {
  return kSmallParts + layout.segments.size() * kLongestHeader + layout.size * sizeof(double) +
         numbers * kLongestNumber;
}

}  // namespace feroma::net
