#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "core/posix_file.h"

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

 private:
  void write_buffer();

  PosixFile file_;
  std::string buffer_;
};

}  // namespace feroma::detail
