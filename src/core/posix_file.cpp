#include "core/posix_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace feroma::detail {
namespace {

/// Calls until the call is not interrupted by a signal.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) {
      return result;
    }
  }
}

}  // namespace

void fail_errno(const std::filesystem::path& path, std::string_view verb, int error) {
  fail(ErrorCode::io, "{}: cannot {}: {}", path.string(), verb, std::generic_category().message(error));
}

PosixFile::PosixFile(const std::filesystem::path& path, int flags, std::filesystem::path shown)
    : path_(shown.empty() ? path : std::move(shown)) {
  constexpr mode_t kMode = 0666;  // the user's umask narrows it
  descriptor_ = uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); });
  if (descriptor_ < 0) {
    fail_errno(path_, (flags & O_ACCMODE) == O_RDONLY ? "open" : "open for writing", errno);
  }
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

PosixFile::~PosixFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

std::size_t PosixFile::read(std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = uninterrupted([&] { return ::read(descriptor_, out.data() + done, out.size() - done); });
    if (got < 0) {
      fail_errno(path_, "read", errno);
    }
    if (got == 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void PosixFile::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = uninterrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (put < 0) {
      fail_errno(path_, "write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void PosixFile::sync() {
  if (uninterrupted([&] { return ::fsync(descriptor_); }) < 0) {
    fail_errno(path_, "sync to disk", errno);
  }
}

void PosixFile::truncate(std::uint64_t size) {
  if (uninterrupted([&] { return ::ftruncate(descriptor_, static_cast<off_t>(size)); }) < 0) {
    fail_errno(path_, "truncate", errno);
  }
}

bool PosixFile::try_lock() {
  if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX | LOCK_NB); }) == 0) {
    return true;
  }
  if (errno != EWOULDBLOCK) {
    fail_errno(path_, "lock", errno);
  }
  return false;
}

std::uint64_t PosixFile::size() const {
  struct stat info {};
  if (::fstat(descriptor_, &info) < 0) {
    fail_errno(path_, "examine", errno);
  }
  return static_cast<std::uint64_t>(info.st_size);
}

void PosixFile::close() {
  // Linux frees the descriptor even when close is interrupted, so it is never called twice.
  if (::close(std::exchange(descriptor_, -1)) < 0 && errno != EINTR) {
    fail_errno(path_, "close", errno);
  }
}

void sync_folder(const std::filesystem::path& folder) {
  PosixFile(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace feroma::detail
