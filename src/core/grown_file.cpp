#include "feroma/core/grown_file.h"

#include <fcntl.h>

#include <algorithm>

#include "core/posix_file.h"
#include "feroma/core/error.h"

namespace feroma {
namespace {

constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

}  // namespace

Sha256 digest_of_first(const std::filesystem::path& path, std::uint64_t size) {
  detail::PosixFile file(path, O_RDONLY);
  Sha256 digest;
  Bytes piece(static_cast<std::size_t>(std::min(size, kPieceBytes)));
  for (std::uint64_t left = size; left > 0;) {
    const std::size_t got = file.read(std::span(piece).first(static_cast<std::size_t>(std::min(left, kPieceBytes))));
    require(got > 0, ErrorCode::invalid_data, "{}: has {} bytes, and must have {}", path.string(), size - left, size);
    digest.add(std::span(piece).first(got));
    left -= got;
  }
  return digest;
}

std::string damage_of(const std::filesystem::path& path, const GrownFile& was) {
  if (!std::filesystem::exists(path)) {
    return fmt::format("is missing, and had {} bytes", was.size);
  }
  if (const std::uint64_t now = std::filesystem::file_size(path); now < was.size) {
    return fmt::format("has {} bytes, and had {}", now, was.size);
  }
  const std::string digest = digest_of_first(path, was.size).hex();
  return digest == was.digest
             ? ""
             : fmt::format("the SHA-256 of its first {} bytes must be {}, got {}", was.size, was.digest, digest);
}

}  // namespace feroma
