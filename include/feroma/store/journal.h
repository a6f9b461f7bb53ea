#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/archive.h"

namespace feroma {

/// What stands in a journal's file.
struct JournalContent {
  std::vector<Bytes> records;  ///< the whole ones, up to the first that is not
  std::uint64_t whole = 0;     ///< bytes up to the end of the last of them
  std::uint64_t cut = 0;       ///< bytes behind it that a crash left of one more
  std::string damage;          ///< what stands there instead, which no crash leaves; empty where nothing does

  /// An invalid_data error that names the file where it is damaged.
  void require_undamaged(const std::filesystem::path& path) const;
};

/// Reads a journal that somebody else may hold, and writes nothing. A file that is not there has no records; one that
/// is no journal is an invalid_data error.
[[nodiscard]] JournalContent examine_journal(const std::filesystem::path& path);

/**
 * An append-only file of records, each with its number and checksums. A record that `append` returned from survives a
 * crash and a power loss. What a crash left unfinished at the end, less than a record, is cut off before the next one
 * is written; anything else that is no record is damage, and the journal is refused.
 */
class Journal {
 public:
  /// Opens the journal, or an empty file for one; writes nothing into it. Only one process may hold it.
  explicit Journal(std::filesystem::path path);
  ~Journal();
  Journal(Journal&&) noexcept;

  /// The records that were there when it was opened, in order, handed over once: a long federation has many, and
  /// nobody asks for them again.
  [[nodiscard]] std::vector<Bytes> take_records() { return std::move(records_); }
  /// Bytes of an unfinished record that were found behind them.
  [[nodiscard]] std::uint64_t cut() const { return cut_; }
  void append(std::span<const std::byte> record);

 private:
  struct Held;

  std::filesystem::path path_;
  std::unique_ptr<Held> held_;
  /// Cuts off what is unfinished, or begins the file.
  void make_ready();

  std::vector<Bytes> records_;
  std::uint64_t count_ = 0;  ///< of all records in the file
  std::uint64_t whole_ = 0;  ///< bytes of them
  std::uint64_t cut_ = 0;
  bool ready_ = false;
};

}  // namespace feroma
