#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/posix_file.h"
#include "feroma/core/grown_file.h"

namespace feroma::detail {

/// A file that only grows, with a buffer in front of it.
class AppendFile {
 public:
  /// `create` starts an empty file; otherwise it must exist.
  AppendFile(const std::filesystem::path& path, bool create);

  void append(std::string_view text);
  /// Brings the buffer to the disk; returns the size of the file.
  std::uint64_t flush();
  void truncate_to(std::uint64_t size);
  /// What was written up to now, and of a file that was there already only after truncate_to.
  [[nodiscard]] GrownFile grown() const { return {size_, digest_.hex()}; }

 private:
  void write_buffer();

  std::filesystem::path path_;
  PosixFile file_;
  std::string buffer_;
  std::uint64_t size_ = 0;
  Sha256 digest_;
};

}  // namespace feroma::detail
