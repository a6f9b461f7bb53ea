#include "dashboard/tailed_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "core/posix_file.h"

namespace feroma::dashboard {
namespace {

/// Bytes of one piece: small enough that requests are answered between two of them.
constexpr std::size_t kPiece = std::size_t{1} << 20;
/// The mixing event of a million clients fits.
constexpr std::size_t kLongestLine = std::size_t{32} << 20;
/// Bytes by which a file is recognised.
constexpr std::size_t kKept = 512;

}  // namespace

std::string read_piece(const std::filesystem::path& path, std::uint64_t offset, std::size_t count) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    detail::fail_errno(path, "open", errno);
  }
  std::string bytes(count, '\0');
  std::size_t filled = 0;
  ssize_t got = 1;
  while (filled < count && got > 0) {
    got = ::pread(file, bytes.data() + filled, count - filled, static_cast<off_t>(offset + filled));
    if (got < 0 && errno == EINTR) {
      got = 1;
    } else if (got > 0) {
      filled += static_cast<std::size_t>(got);
    }
  }
  const int error = errno;
  ::close(file);
  if (got < 0) {
    detail::fail_errno(path, "read", error);
  }
  bytes.resize(filled);
  return bytes;
}

TailedFile::Seen TailedFile::poll(const std::function<void(const TailedLine&)>& take) {
  struct stat found {};
  if (::stat(path_.c_str(), &found) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) {
      detail::fail_errno(path_, "look at", errno);
    }
    const bool was_there = position_ > 0;
    begin_anew();
    return was_there ? Seen::cut : Seen::nothing;
  }
  size_ = static_cast<std::uint64_t>(found.st_size);
  if (size_ < position_ || !is_same_file()) {
    begin_anew();
    return Seen::cut;
  }
  if (size_ == position_) {
    return Seen::nothing;
  }
  const std::string piece = read_piece(path_, position_, kPiece);
  position_ += piece.size();
  last_bytes_ += piece.substr(piece.size() - std::min(piece.size(), kKept));
  last_bytes_.erase(0, last_bytes_.size() - std::min(last_bytes_.size(), kKept));
  waiting_ += piece;
  bool any = false;
  take_lines(take, any);
  return any ? Seen::lines : Seen::nothing;
}

bool TailedFile::is_same_file() const {
  return last_bytes_.empty() || read_piece(path_, position_ - last_bytes_.size(), last_bytes_.size()) == last_bytes_;
}

void TailedFile::take_lines(const std::function<void(const TailedLine&)>& take, bool& any) {
  const std::uint64_t start = position_ - waiting_.size();
  std::size_t begin = 0;
  for (std::size_t end = waiting_.find('\n'); end != std::string::npos; end = waiting_.find('\n', begin)) {
    lines_ += 1;
    any = true;
    if (!std::exchange(skipping_, false)) {
      take({std::string_view(waiting_).substr(begin, end - begin), lines_, start + begin});
    }
    begin = end + 1;
  }
  waiting_.erase(0, begin);
  if (waiting_.size() > kLongestLine) {
    too_long_ += skipping_ ? 0 : 1;
    skipping_ = true;
    waiting_ = std::string();
  }
}

void TailedFile::begin_anew() {
  position_ = size_ = lines_ = too_long_ = 0;
  waiting_ = last_bytes_ = {};
  skipping_ = false;
}

}  // namespace feroma::dashboard
