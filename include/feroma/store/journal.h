#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma {

/**
 * An append-only file of records, each with its number and checksums. A record that `append` returned from survives a
 * crash and a power loss. What a crash left unfinished at the end is cut off when the journal is opened again; damage
 * anywhere before is an invalid_data error, because records behind it would be lost.
 */
class Journal {
 public:
  /// Opens the journal, or begins one. Only one process may hold it.
  explicit Journal(std::filesystem::path path);
  ~Journal();
  Journal(Journal&&) noexcept;

  /// The records that were there when it was opened, in order, handed over once: a long federation has many, and
  /// nobody asks for them again.
  [[nodiscard]] std::vector<Bytes> take_records() { return std::move(records_); }
  /// Bytes of an unfinished record that were cut off when the journal was opened.
  [[nodiscard]] std::uint64_t cut() const { return cut_; }
  void append(std::span<const std::byte> record);

 private:
  struct Held;

  std::filesystem::path path_;
  std::unique_ptr<Held> held_;
  std::vector<Bytes> records_;
  std::uint64_t count_ = 0;  ///< of all records in the file
  std::uint64_t cut_ = 0;
};

/// Reads the records of a journal that somebody else may hold; an unfinished one at the end is left out.
[[nodiscard]] std::vector<Bytes> read_journal(const std::filesystem::path& path);

}  // namespace feroma
