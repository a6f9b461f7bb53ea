#include "feroma/store/checkpoint.h"

#include <zlib.h>

#include <array>
#include <cstring>
#include <system_error>

#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

constexpr std::array<char, 8> kMagic{'F', 'E', 'R', 'O', 'M', 'A', 'C', 'K'};
constexpr std::uint32_t kVersion = 1;

/// The first bytes of the file, as they are on disk.
struct Header {
  std::array<char, 8> magic{};
  std::uint32_t version = 0;
  std::uint32_t crc = 0;  ///< of the payload
  std::uint64_t size = 0;
};
static_assert(sizeof(Header) == 24, "the header has no padding");

std::uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

}  // namespace

std::filesystem::path checkpoint_path(const std::filesystem::path& run_folder, std::string_view label) {
  require(is_file_name(label), ErrorCode::invalid_config,
          "[checkpoint] label must be usable as a file name, got \"{}\"", label);
  return run_folder / "checkpoint" / fmt::format("{}.ckpt", label);
}

void write_checkpoint(const std::filesystem::path& path, std::span<const std::byte> payload) {
  make_writable_folder(path.parent_path());
  const Header header{kMagic, kVersion, crc_of(payload), payload.size()};
  write_pieces_atomically(path, std::array{std::as_bytes(std::span(&header, 1)), payload});
}

Bytes read_checkpoint(const std::filesystem::path& path) {
  Bytes bytes = read_file(path);
  Header header;
  require(bytes.size() >= sizeof(Header), ErrorCode::invalid_data,
          "{}: is cut off: a checkpoint has at least {} bytes, got {}", path.string(), sizeof(Header), bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(Header));
  require(header.magic == kMagic, ErrorCode::invalid_data, "{}: is not a checkpoint", path.string());
  require(header.version == kVersion, ErrorCode::invalid_data, "{}: checkpoint version must be {}, got {}",
          path.string(), kVersion, header.version);
  bytes.erase(bytes.begin(), bytes.begin() + sizeof(Header));
  require(header.size == bytes.size(), ErrorCode::invalid_data,
          "{}: is damaged: it should hold {} bytes of state, it has {}", path.string(), header.size, bytes.size());
  const std::uint32_t crc = crc_of(bytes);
  require(header.crc == crc, ErrorCode::invalid_data, "{}: is damaged: checksum should be {:08x}, got {:08x}",
          path.string(), header.crc, crc);
  return bytes;
}

bool has_checkpoint(const std::filesystem::path& path) {
  std::error_code error;
  const bool found = std::filesystem::exists(path, error);
  require(!error, ErrorCode::io, "{}: cannot look for a checkpoint: {}", path.string(), error.message());
  return found;
}

}  // namespace feroma
