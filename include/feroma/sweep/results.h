#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "feroma/sweep/folder.h"

struct sqlite3;

namespace feroma {

/**
 * `results.db`, an SQLite file for people and programs that ask questions about a sweep. Table `cells` has a row per
 * cell with the scenario's usual columns and every figure of summary.json, `settings` every resolved key of it, and
 * `sweeps` which sweep asked for which cell. It holds nothing that the cells' folders do not, so it can always be
 * made anew. Not thread-safe; other processes may read at any time.
 */
class ResultsDb {
 public:
  /// Opens the file, or makes an empty one. A database of something else is an invalid_data error, and so is a damaged
  /// file, here and below: the message says that it can be deleted.
  explicit ResultsDb(std::filesystem::path path);

  /// Makes the whole content anew, in one transaction.
  void rebuild(std::span<const CellRecord> cells, std::span<const SweepList> sweeps);
  /// Replaces one cell, in one transaction.
  void update(const CellRecord& cell);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  void make_tables();
  void insert(const CellRecord& cell);
  void insert(std::span<const SweepList> sweeps);

  std::filesystem::path path_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// The statements that make the tables.
[[nodiscard]] std::string results_schema();

}  // namespace feroma
