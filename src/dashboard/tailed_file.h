#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace feroma::dashboard {

/// A complete line of a file that may still be growing, without its end.
struct TailedLine {
  std::string_view text;
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t offset = 0;  ///< of its first byte
};

/**
 * Reads a growing file line by line, a piece at a time. A last line without its end waits for the rest; a file that was
 * cut or replaced, even if it has grown again since, is noticed by the bytes before the place where reading goes on.
 */
class TailedFile {
 public:
  explicit TailedFile(std::filesystem::path path) : path_(std::move(path)) {}

  enum class Seen {
    nothing,  ///< no new line
    lines,    ///< some were given; there may be more
    cut,      ///< what was read before is not what is there now; reading begins anew with the next call
  };
  /// Reads one piece and calls `take` for every complete line in it. A missing file is an empty one.
  [[nodiscard]] Seen poll(const std::function<void(const TailedLine&)>& take);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Lines that were too long to read; they were left out.
  [[nodiscard]] std::uint64_t too_long() const { return too_long_; }

 private:
  [[nodiscard]] bool is_same_file() const;
  void take_lines(const std::function<void(const TailedLine&)>& take, bool& any);
  void begin_anew();

  std::filesystem::path path_;
  std::uint64_t position_ = 0;  ///< bytes read, those of an unfinished line included
  std::uint64_t size_ = 0;
  std::uint64_t lines_ = 0;
  std::uint64_t too_long_ = 0;
  std::string waiting_;     ///< an unfinished line
  std::string last_bytes_;  ///< the ones before position_
  bool skipping_ = false;   ///< in a line that is too long
};

/// The bytes of a file from `offset` on, at most `count`; fewer where it ends.
[[nodiscard]] std::string read_piece(const std::filesystem::path& path, std::uint64_t offset, std::size_t count);

}  // namespace feroma::dashboard
