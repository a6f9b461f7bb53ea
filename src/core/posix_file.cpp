#include "core/posix_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "feroma/core/fault_point.h"

namespace feroma::detail {
namespace {

/// Who asks whether a file is held has it for a moment; only who has it for longer holds it.
constexpr int kLockTries = 4;
constexpr auto kBetweenLockTries = std::chrono::milliseconds(10);

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

/// The same for a call that a test may watch or let fail; `call` is told how many bytes a write may write.
template <class Call>
auto watched(FileCall about, Call call) {
  return uninterrupted([&]() -> decltype(call(std::size_t{})) {
    FaultHook* hook = fault_hook();
    const FileFault fault = hook == nullptr ? FileFault{} : hook->before(about);
    if (fault.error != 0) {
      errno = fault.error;
      return -1;
    }
    const auto result = call(fault.most);
    if (hook != nullptr && result >= 0) {
      about.descriptor = about.op == FileOp::open ? static_cast<int>(result) : about.descriptor;
      hook->after(about);
    }
    return result;
  });
}

}  // namespace

void fail_errno(const std::filesystem::path& path, std::string_view verb, int error) {
  fail(ErrorCode::io, "{}: cannot {}: {}", path.string(), verb, std::generic_category().message(error));
}

PosixFile::PosixFile(const std::filesystem::path& path, int flags, std::filesystem::path shown)
    : path_(shown.empty() ? path : std::move(shown)), is_folder_((flags & O_DIRECTORY) != 0) {
  constexpr mode_t kMode = 0666;  // the user's umask narrows it
  descriptor_ = watched({FileOp::open, -1, path.c_str()},
                        [&](std::size_t) { return ::open(path.c_str(), flags | O_CLOEXEC, kMode); });
  if (descriptor_ < 0) {
    fail_errno(path_, (flags & O_ACCMODE) == O_RDONLY ? "open" : "open for writing", errno);
  }
}

PosixFile::PosixFile(PosixFile&& other) noexcept
    : path_(std::move(other.path_)), is_folder_(other.is_folder_), descriptor_(std::exchange(other.descriptor_, -1)) {}

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
    const ssize_t put = watched({FileOp::write, descriptor_, path_.c_str()}, [&](std::size_t most) {
      return ::write(descriptor_, bytes.data(), std::min(bytes.size(), most));
    });
    if (put < 0) {
      fail_errno(path_, "write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

void PosixFile::sync() {
  const FileCall about{is_folder_ ? FileOp::sync_folder : FileOp::sync, descriptor_, path_.c_str()};
  if (watched(about, [&](std::size_t) { return ::fsync(descriptor_); }) < 0) {
    fail_errno(path_, "sync to disk", errno);
  }
}

void PosixFile::truncate(std::uint64_t size) {
  if (watched({FileOp::truncate, descriptor_, path_.c_str()},
              [&](std::size_t) { return ::ftruncate(descriptor_, static_cast<off_t>(size)); }) < 0) {
    fail_errno(path_, "truncate", errno);
  }
}

bool PosixFile::flock_now(int how) {
  if (uninterrupted([&] { return ::flock(descriptor_, how | LOCK_NB); }) == 0) {
    return true;
  }
  if (errno != EWOULDBLOCK) {
    fail_errno(path_, "lock", errno);
  }
  return false;
}

bool PosixFile::try_lock() {
  bool locked = flock_now(LOCK_EX);
  for (int tries = 1; !locked && tries < kLockTries; ++tries) {
    std::this_thread::sleep_for(kBetweenLockTries);
    locked = flock_now(LOCK_EX);
  }
  return locked;
}

void PosixFile::lock() {
  if (uninterrupted([&] { return ::flock(descriptor_, LOCK_EX); }) < 0) {
    fail_errno(path_, "lock", errno);
  }
}

bool PosixFile::is_held() {
  // Shared, so that several who ask do not take each other for a holder.
  return !flock_now(LOCK_SH) || !flock_now(LOCK_UN);
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

void rename_file(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (watched({FileOp::rename, -1, from.c_str(), to.c_str()},
              [&](std::size_t) { return ::rename(from.c_str(), to.c_str()); }) < 0) {
    fail_errno(to, "replace", errno);
  }
}

void sync_folder(const std::filesystem::path& folder) {
  PosixFile(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY).sync();
}

}  // namespace feroma::detail
