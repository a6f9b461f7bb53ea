#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "feroma/core/error.h"

namespace feroma::detail {

/// Throws an io error "<path>: cannot <verb>: <text of errno>".
[[noreturn]] void fail_errno(const std::filesystem::path& path, std::string_view verb, int error);

/// An open file descriptor; every call goes on after a signal, and a failure is an io error that names the path.
class PosixFile {
 public:
  /// Errors name `shown` where it is given: the file a user asked for, not the temporary one behind it.
  PosixFile(const std::filesystem::path& path, int flags, std::filesystem::path shown = {});
  PosixFile(PosixFile&& other) noexcept;
  PosixFile& operator=(PosixFile&&) = delete;
  ~PosixFile();

  /// Fills as much of `out` as the file has and returns that number of bytes.
  [[nodiscard]] std::size_t read(std::span<std::byte> out);
  void write_all(std::span<const std::byte> bytes);
  void sync();
  void truncate(std::uint64_t size);
  /// Whether nobody else holds the file now; it is held until it is closed. Who only asks, by is_held, is waited for.
  [[nodiscard]] bool try_lock();
  /// Waits until nobody else holds it.
  void lock();
  /// Whether another opening of this file or folder, in any process, holds it.
  [[nodiscard]] bool is_held();
  [[nodiscard]] std::uint64_t size() const;
  /// Closes now, so that an error the system reports late is not lost.
  void close();

 private:
  /// False where somebody else has it.
  [[nodiscard]] bool flock_now(int how);

  std::filesystem::path path_;
  bool is_folder_ = false;
  int descriptor_ = -1;
};

/// Gives a file another name, in place of what had it.
void rename_file(const std::filesystem::path& from, const std::filesystem::path& to);
/// Makes a rename or a new name in `folder` survive a power loss.
void sync_folder(const std::filesystem::path& folder);

}  // namespace feroma::detail
