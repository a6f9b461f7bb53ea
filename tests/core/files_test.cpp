#include "feroma/core/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "tests/core/expect_error.h"
#include "tests/core/temp_folder.h"

// The linker sends the library's system calls through these (see CMakeLists.txt), so a test can let the n-th one fail.
namespace {

struct Faults {
  int write_failures_left = 0;  ///< writes that fail with `write_errno` before one works
  int write_errno = 0;
  std::size_t longest_write = static_cast<std::size_t>(-1);
  int fail_write_after = -1;  ///< writes that still work; -1: all of them
  int fsync_errno = 0;
  int rename_errno = 0;
  std::vector<std::string> log;
};
Faults faults;

/// Starts without faults and leaves none behind.
struct FaultScope {
  FaultScope() { faults = Faults{}; }
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;
  ~FaultScope() { faults = Faults{}; }
};

}  // namespace

extern "C" {
ssize_t __real_write(int fd, const void* data, size_t size);
int __real_fsync(int fd);
int __real_rename(const char* from, const char* to);

ssize_t __wrap_write(int fd, const void* data, size_t size);
int __wrap_fsync(int fd);
int __wrap_rename(const char* from, const char* to);

ssize_t __wrap_write(int fd, const void* data, size_t size) {
  if (faults.write_failures_left > 0 || faults.fail_write_after == 0) {
    --faults.write_failures_left;
    errno = faults.write_errno;
    return -1;
  }
  faults.fail_write_after -= faults.fail_write_after > 0 ? 1 : 0;
  faults.log.emplace_back("write");
  return __real_write(fd, data, size < faults.longest_write ? size : faults.longest_write);
}
int __wrap_fsync(int fd) {
  struct stat info {};
  fstat(fd, &info);
  faults.log.emplace_back(S_ISDIR(info.st_mode) ? "fsync folder" : "fsync file");
  if (faults.fsync_errno != 0) {
    errno = faults.fsync_errno;
    return -1;
  }
  return __real_fsync(fd);
}
int __wrap_rename(const char* from, const char* to) {
  faults.log.emplace_back("rename");
  if (faults.rename_errno != 0) {
    errno = faults.rename_errno;
    return -1;
  }
  return __real_rename(from, to);
}
}

namespace feroma {
namespace {

using test::error_of;
using test::holds;
using test::TempFolder;

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
  }
  return count;
}

TEST(Files, ReadBackWhatWasWritten) {
  const TempFolder folder;
  write_file_atomically(folder / "a.txt", std::string_view("one\0two\n", 8));
  EXPECT_EQ(read_text(folder / "a.txt"), std::string("one\0two\n", 8));
  EXPECT_EQ(read_file(folder / "a.txt").size(), 8U);
  write_file_atomically(folder / "a.txt", std::string_view("short"));
  EXPECT_EQ(read_text(folder / "a.txt"), "short");
  EXPECT_EQ(files_in(folder.path()), 1U);
}

TEST(Files, AnEmptyFileHasNoBytes) {
  const TempFolder folder;
  write_file_atomically(folder / "empty", std::string_view());
  EXPECT_EQ(read_text(folder / "empty"), "");
}

TEST(Files, PiecesFollowOneAnother) {
  const TempFolder folder;
  const Bytes head{std::byte{'a'}, std::byte{'b'}};
  const Bytes tail{std::byte{'c'}};
  const std::vector<std::span<const std::byte>> pieces{head, {}, tail};
  write_pieces_atomically(folder / "abc", pieces);
  EXPECT_EQ(read_text(folder / "abc"), "abc");
}

TEST(Files, ReadsFilesWhoseSizeTheSystemDoesNotTell) { EXPECT_TRUE(holds(read_text("/proc/self/status"), "Pid:")); }

TEST(Files, AMissingFileIsNamed) {
  EXPECT_EQ(error_of(ErrorCode::io, [] { (void)read_file("/nowhere/x.bin"); }),
            "/nowhere/x.bin: cannot open: No such file or directory");
}

TEST(Files, AFolderIsNotAFile) {
  const TempFolder folder;
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { (void)read_file(folder.path()); }), "cannot read: Is a directory"));
}

TEST(Files, ContentReachesTheDiskBeforeItsNameAndTheNameBeforeWeReturn) {
  const TempFolder folder;
  const FaultScope scope;
  write_file_atomically(folder / "a", std::string_view("x"));
  EXPECT_EQ(faults.log, (std::vector<std::string>{"write", "fsync file", "rename", "fsync folder"}));
}

TEST(Files, ShortAndInterruptedWritesGoOn) {
  const TempFolder folder;
  const FaultScope scope;
  faults.longest_write = 2;
  faults.write_failures_left = 3;
  faults.write_errno = EINTR;
  write_file_atomically(folder / "a", std::string_view("abcdefg"));
  EXPECT_EQ(read_text(folder / "a"), "abcdefg");
}

TEST(Files, AFailureAtAnyStepKeepsTheOldFileAndLeavesNothingBehind) {
  const std::vector<std::function<void()>> breaks{
      [] { faults.fail_write_after = 0, faults.write_errno = ENOSPC; },
      [] { faults.fail_write_after = 1, faults.write_errno = ENOSPC, faults.longest_write = 1; },
      [] { faults.fsync_errno = EIO; },
      [] { faults.rename_errno = EACCES; },
  };
  const std::vector<std::string> texts{"cannot write: No space left on device", "cannot write: No space left on device",
                                       "cannot sync to disk: Input/output error", "cannot replace: Permission denied"};
  for (std::size_t i = 0; i < breaks.size(); ++i) {
    const TempFolder folder;
    write_file_atomically(folder / "a", std::string_view("old"));
    const FaultScope scope;
    breaks[i]();
    const std::string message =
        error_of(ErrorCode::io, [&] { write_file_atomically(folder / "a", std::string_view("new")); });
    EXPECT_TRUE(holds(message, texts[i]));
    EXPECT_EQ(read_text(folder / "a"), "old");
    EXPECT_EQ(files_in(folder.path()), 1U);
  }
}

TEST(Files, UnfinishedWritesOfAKilledProcessAreRemovedAndNothingElse) {
  const TempFolder folder;
  write_file_atomically(folder / ".a.ckpt.123-0.unfinished", std::string_view("torn"));
  write_file_atomically(folder / "kept.unfinished", std::string_view("mine"));
  write_file_atomically(folder / ".hidden", std::string_view("mine"));
  remove_unfinished_writes(folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder / ".a.ckpt.123-0.unfinished"));
  EXPECT_EQ(files_in(folder.path()), 2U);
  remove_unfinished_writes(folder / "missing");
}

TEST(Files, AFileNameStaysInItsFolder) {
  for (const std::string_view name : {"feroma-auto", "a b", "x.ckpt", "P(Y|X)", "±"}) {
    EXPECT_TRUE(is_file_name(name)) << name;
  }
  for (const std::string_view name : {"", ".", "..", ".hidden", "a/b", "/a", "a\nb", "a\x7f"}) {
    EXPECT_FALSE(is_file_name(name)) << name;
  }
}

TEST(Files, MakesNestedFoldersAndLeavesThemEmpty) {
  const TempFolder folder;
  make_writable_folder(folder / "a/b/c");
  make_writable_folder(folder / "a/b/c");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "a/b/c"));
  EXPECT_EQ(files_in(folder / "a/b/c"), 0U);
}

TEST(Files, AFileInTheWayOfAFolderIsNamed) {
  const TempFolder folder;
  write_file_atomically(folder / "a", std::string_view("x"));
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { make_writable_folder(folder / "a"); }), "/a: "));
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { make_writable_folder(folder / "a/b"); }),
                    "/a/b: cannot create the folder: Not a directory"));
}

TEST(Files, AFullDiskIsFoundBeforeTheRunStarts) {
  const TempFolder folder;
  const FaultScope scope;
  faults.fail_write_after = 0;
  faults.write_errno = ENOSPC;
  EXPECT_TRUE(holds(error_of(ErrorCode::io, [&] { make_writable_folder(folder / "run"); }), "No space left on device"));
  EXPECT_EQ(files_in(folder / "run"), 0U);
}

}  // namespace
}  // namespace feroma
