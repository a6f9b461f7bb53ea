#include "feroma/data/cifar.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {

void append_cifar_(Samples& samples, std::span<const std::byte> bytes, const std::string& name, CifarLayout layout) {
  constexpr SampleShape kShape{.channels = 3, .height = 32, .width = 32};
  const auto pixels = static_cast<std::size_t>(kShape.size());
  const auto label_bytes = static_cast<std::size_t>(layout.label_bytes);
  const std::size_t record = label_bytes + pixels;
  require(!bytes.empty(), ErrorCode::invalid_data, "[cifar] {}: the file must hold at least one picture, got 0 bytes",
          name);
  require(bytes.size() % record == 0, ErrorCode::invalid_data,
          "[cifar] {}: the size must be a multiple of {} bytes, got {}: picture {} is cut off at offset {}", name,
          record, bytes.size(), bytes.size() / record, bytes.size() / record * record);
  samples.shape = kShape;
  samples.labels.reserve(samples.labels.size() + bytes.size() / record);
  samples.pixels.reserve(samples.pixels.size() + bytes.size() / record * pixels);
  for (std::size_t at = 0; at < bytes.size(); at += record) {
    const std::size_t label_at = at + static_cast<std::size_t>(layout.label_index);
    const int label = std::to_integer<int>(bytes[label_at]);
    require(label < layout.classes, ErrorCode::invalid_data, "[cifar] {}: labels must be below {}, got {} at offset {}",
            name, layout.classes, label, label_at);
    samples.labels.push_back(label);
    const std::span<const std::byte> picture = bytes.subspan(at + label_bytes, pixels);
    std::transform(picture.begin(), picture.end(), std::back_inserter(samples.pixels),
                   [](std::byte b) { return std::to_integer<std::uint8_t>(b); });
  }
}

}  // namespace feroma
