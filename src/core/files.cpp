#include "feroma/core/files.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <system_error>

#include "core/posix_file.h"
#include "feroma/core/error.h"
#include "feroma/core/log.h"

namespace feroma {
namespace {

using detail::PosixFile;

constexpr std::string_view kUnfinishedSuffix = ".unfinished";

/// A hidden name beside `path` that no other thread or process uses.
std::filesystem::path unfinished_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  return path.parent_path() /
         fmt::format(".{}.{}-{}{}", path.filename().string(), ::getpid(), counter++, kUnfinishedSuffix);
}

/// Removes a file at the end of its life unless it was renamed away.
class RemoveLater {
 public:
  explicit RemoveLater(std::filesystem::path path) : path_(std::move(path)) {}
  RemoveLater(const RemoveLater&) = delete;
  RemoveLater& operator=(const RemoveLater&) = delete;
  ~RemoveLater() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

 private:
  std::filesystem::path path_;
};

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

}  // namespace

Bytes read_file(const std::filesystem::path& path) {
  PosixFile file(path, O_RDONLY);
  // The size is a hint only: the file may grow or shrink while it is read. One byte more finds the end in one call.
  Bytes bytes(static_cast<std::size_t>(file.size()) + 1);
  std::size_t filled = 0;
  for (;;) {
    filled += file.read(std::span(bytes).subspan(filled));
    if (filled < bytes.size()) {
      bytes.resize(filled);
      return bytes;
    }
    bytes.resize(bytes.size() * 2);
  }
}

std::string read_text(const std::filesystem::path& path) {
  const Bytes bytes = read_file(path);
  std::string text(bytes.size(), '\0');
  if (!bytes.empty()) {
    std::memcpy(text.data(), bytes.data(), bytes.size());
  }
  return text;
}

namespace {

/// Writes the pieces under another name and renames the file.
void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces, bool synced) {
  const std::filesystem::path unfinished = unfinished_name(path);
  PosixFile file(unfinished, O_WRONLY | O_CREAT | O_EXCL, path);
  const RemoveLater cleanup(unfinished);
  for (const std::span<const std::byte> piece : pieces) {
    file.write_all(piece);
  }
  // The content must be on disk before its name is: otherwise a power loss leaves an empty file under the final name.
  if (synced) {
    file.sync();
  }
  file.close();
  detail::rename_file(unfinished, path);
}

}  // namespace

void write_pieces_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  replace_file(path, pieces, /*synced=*/true);
  detail::sync_folder(path.parent_path());
}

void write_file_unsynced(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  replace_file(path, std::array{bytes}, /*synced=*/false);
}

void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  write_pieces_atomically(path, std::array{bytes});
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  write_file_atomically(path, bytes_of(text));
}

bool is_unfinished_write(std::string_view name) { return name.starts_with('.') && name.ends_with(kUnfinishedSuffix); }

void remove_unfinished_writes(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_unfinished_write(name)) {
      std::filesystem::remove(it->path(), error);
    }
  }
  require(!error || error == std::errc::no_such_file_or_directory, ErrorCode::io,
          "{}: cannot remove unfinished files: {}", folder.string(), error.message());
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name.front() != '.' && std::none_of(name.begin(), name.end(), [](char c) {
    return c == '/' || static_cast<unsigned char>(c) < 0x20 || c == '\x7f';
  });
}

void make_writable_folder(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  require(!error, ErrorCode::io, "{}: cannot create the folder: {}", path.string(), error.message());
  require(std::filesystem::is_directory(path, error), ErrorCode::io, "{}: must be a folder, but is a file",
          path.string());
  const std::filesystem::path probe = unfinished_name(path / "probe");
  PosixFile file(probe, O_WRONLY | O_CREAT | O_EXCL);
  const RemoveLater cleanup(probe);
  // One byte, because creating a name may still work on a full disk.
  file.write_all(bytes_of("x"));
  file.close();
}

std::filesystem::path aside_name(const std::filesystem::path& path) {
  const std::string name =
      fmt::format("{}.damaged-{:%Y%m%dT%H%M%SZ}", path.string(),
                  fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  std::filesystem::path free = name;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(free)); ++number) {
    free = fmt::format("{}-{}", name, number);
  }
  return free;
}

std::filesystem::path move_aside(const std::filesystem::path& path) {
  std::filesystem::path aside = aside_name(path);
  detail::rename_file(path, aside);
  detail::sync_folder(path.parent_path());
  return aside;
}

bool is_open_to_others(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

void warn_if_open_to_others(const std::filesystem::path& path) {
  if (is_open_to_others(path)) {
    log::warning("{}: is open to others than its owner (chmod {} {})", path.string(),
                 std::filesystem::is_directory(path) ? 700 : 600, path.string());
  }
}

}  // namespace feroma
