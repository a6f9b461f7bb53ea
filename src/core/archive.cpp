#include "feroma/core/archive.h"

#include "feroma/core/error.h"

namespace feroma {

void ArchiveReader::raw(std::span<std::byte> out) {
  require(out.size() <= bytes_.size() - position_, ErrorCode::invalid_data,
          "{}: ends at byte {}, but {} more are needed at offset {}", what_, bytes_.size(), out.size(), position_);
  if (!out.empty()) {
    std::memcpy(out.data(), bytes_.data() + position_, out.size());
  }
  position_ += out.size();
}

bool ArchiveReader::checked_bool() {
  const auto byte = get<std::uint8_t>();
  require(byte <= 1, ErrorCode::invalid_data, "{}: a boolean at offset {} must be 0 or 1, got {}", what_, position_ - 1,
          byte);
  return byte == 1;
}

std::size_t ArchiveReader::checked_count(std::size_t element_size) {
  const auto count = get<std::uint64_t>();
  const std::size_t left = bytes_.size() - position_;
  require(count <= left / element_size, ErrorCode::invalid_data,
          "{}: a length of {} x {} bytes at offset {} exceeds the {} bytes left", what_, count, element_size,
          position_ - sizeof(count), left);
  return static_cast<std::size_t>(count);
}

void ArchiveReader::expect_end() const {
  require(at_end(), ErrorCode::invalid_data, "{}: {} bytes too many at offset {}", what_, bytes_.size() - position_,
          position_);
}

}  // namespace feroma
