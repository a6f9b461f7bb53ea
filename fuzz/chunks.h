#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace feroma::fuzz {

/// One step of an input that stands for a conversation or a list of records.
struct Chunk {
  std::uint8_t kind = 0;
  std::span<const std::byte> bytes;
};

/// Cuts an input into chunks: a byte of kind, two of length (the smaller first), and so many bytes. The last chunk is
/// as long as the input lets it be.
class Chunks {
 public:
  explicit Chunks(std::span<const std::byte> input) : left_(input) {}

  [[nodiscard]] std::optional<Chunk> next() {
    constexpr std::size_t kHead = 3;
    if (left_.size() < kHead) {
      return std::nullopt;
    }
    const auto kind = std::to_integer<std::uint8_t>(left_[0]);
    const std::size_t length = std::to_integer<std::size_t>(left_[1]) | std::to_integer<std::size_t>(left_[2]) << 8;
    left_ = left_.subspan(kHead);
    const Chunk chunk{kind, left_.first(std::min(length, left_.size()))};
    left_ = left_.subspan(chunk.bytes.size());
    return chunk;
  }

 private:
  std::span<const std::byte> left_;
};

}  // namespace feroma::fuzz
