#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "feroma/core/archive.h"

namespace feroma {

/// The whole file; a missing or unreadable one is an io error naming it.
[[nodiscard]] Bytes read_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_text(const std::filesystem::path& path);
/// Writes to a temporary name, syncs, renames and syncs the folder: readers see the old file or the whole new one.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, std::string_view text);
/// The same for a file that is kept in several pieces, so that a large payload is not copied behind its header.
void write_pieces_atomically(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces);
/// The same without waiting for the disk: a killed process leaves the old file or the new one, but after a power loss
/// the new one may be empty.
void write_file_unsynced(const std::filesystem::path& path, std::span<const std::byte> bytes);
/// Whether a file name is that of an atomic write that never finished.
[[nodiscard]] bool is_unfinished_write(std::string_view name);
/// Removes what writers that were killed left behind in `folder`; call it while nobody else writes there.
void remove_unfinished_writes(const std::filesystem::path& folder);
/// Whether `name` can be a file's name in any folder: not empty or hidden, no slash, no control character.
[[nodiscard]] bool is_file_name(std::string_view name);
/// Creates the folder and proves that files can be written in it; an io error says why not.
void make_writable_folder(const std::filesystem::path& path);
/// The name beside `path` that something damaged gets: `<path>.damaged-<UTC>`. Nothing has it yet.
[[nodiscard]] std::filesystem::path aside_name(const std::filesystem::path& path);
/// Gives what is damaged that name, and returns it.
std::filesystem::path move_aside(const std::filesystem::path& path);
/// Whether others than its owner may do anything with a file or folder; false where there is none.
[[nodiscard]] bool is_open_to_others(const std::filesystem::path& path);
/// A line in the log where it is.
void warn_if_open_to_others(const std::filesystem::path& path);
/// SHA-256 as 64 lower-case hex digits.
[[nodiscard]] std::string sha256(std::span<const std::byte> bytes);
/// The same of what comes piece by piece.
class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  /// Of all that was added so far; more may follow.
  [[nodiscard]] std::string hex() const;

 private:
  // First 32 bits of the fractional parts of the square roots of the first 8 primes (FIPS 180-4, 5.3.3).
  std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  Bytes tail_;  ///< less than a block
  std::uint64_t size_ = 0;
};
/// MD5 as 32 lower-case hex digits: what older datasets publish; it says "same file", not "nobody meddled".
[[nodiscard]] std::string md5(std::span<const std::byte> bytes);

}  // namespace feroma
