#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace feroma::detail {

/// Closes a database at the end of its life.
struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

enum class OpenMode { create, read_only };

/// Opens a database file; `create` makes an empty one where there is none. Waits a while for other processes.
[[nodiscard]] Database open_database(const std::filesystem::path& path, OpenMode mode);

/// Throws what SQLite says of the last call: invalid_data for a damaged or foreign file, io for anything else.
[[noreturn]] void fail_sqlite(sqlite3* database, const std::filesystem::path& path);

/// Runs statements that take and return nothing.
void execute(sqlite3* database, const std::filesystem::path& path, const char* sql);

/// A prepared statement. Parameters and columns count from 1 and 0, as SQLite counts them.
class Statement {
 public:
  Statement(sqlite3* database, const std::filesystem::path& path, const char* sql);

  void bind(int index, std::int64_t value);
  void bind(int index, const std::string& text);
  void bind(int index, std::optional<double> value);
  void bind(int index, std::span<const std::byte> blob);
  void bind_null(int index);
  /// True while there is a row.
  bool step();
  void reset();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::optional<double> number(int column) const;
  /// Valid until the next step.
  [[nodiscard]] std::span<const std::byte> blob(int column) const;

 private:
  struct Finalise {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  void check(int code) const;

  sqlite3* database_;
  const std::filesystem::path& path_;
  std::unique_ptr<sqlite3_stmt, Finalise> statement_;
};

/// Rolls back at the end of its life unless it was committed.
class Transaction {
 public:
  Transaction(sqlite3* database, const std::filesystem::path& path);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  void commit();

 private:
  sqlite3* database_;
  const std::filesystem::path& path_;
  bool open_ = true;
};

}  // namespace feroma::detail
