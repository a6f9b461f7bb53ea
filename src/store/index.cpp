#include "feroma/store/index.h"

#include <cstring>
#include <limits>

#include "feroma/core/archive.h"
#include "feroma/core/error.h"
#include "feroma/core/fault_point.h"
#include "feroma/core/files.h"
#include "store/sqlite.h"

namespace feroma {
namespace {

using detail::Statement;
using detail::Transaction;

constexpr std::int64_t kVersion = 1;
/// Stands for "no client" in the key of a row.
constexpr std::int64_t kGlobalModel = -1;

constexpr const char* kSchema =
    "CREATE TABLE models("
    " algorithm TEXT NOT NULL, client INTEGER NOT NULL, round INTEGER NOT NULL, model_file TEXT NOT NULL,"
    " profile BLOB, distribution INTEGER NOT NULL, validation_score REAL, num_examples INTEGER NOT NULL,"
    " PRIMARY KEY(algorithm, round, client, model_file)) WITHOUT ROWID;"
    "PRAGMA user_version = 1;";

constexpr const char* kInsert =
    "INSERT OR REPLACE INTO models(algorithm, client, round, model_file, profile, distribution, validation_score,"
    " num_examples) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

constexpr const char* kList =
    "SELECT algorithm, client, round, model_file, profile, distribution, validation_score, num_examples FROM models"
    " WHERE (?1 IS NULL OR algorithm = ?1) AND (?2 IS NULL OR round = ?2) ORDER BY algorithm, round, client, "
    "model_file";

std::int64_t single_integer(sqlite3* database, const std::filesystem::path& path, const char* sql) {
  Statement statement(database, path, sql);
  return statement.step() ? statement.integer(0) : 0;
}

/// Makes the table in an empty database; anything else must be an index of this version.
void prepare(sqlite3* database, const std::filesystem::path& path, bool may_create) {
  const auto version = [&] { return single_integer(database, path, "PRAGMA user_version"); };
  if (may_create && version() == 0) {
    // Another process may do the same: look again once the write lock is ours.
    Transaction transaction(database, path);
    if (version() == 0 && single_integer(database, path, "SELECT count(*) FROM sqlite_master") == 0) {
      detail::execute(database, path, kSchema);
      transaction.commit();
    }
  }
  require(version() == kVersion, ErrorCode::invalid_data, "{}: is not a model index of version {}, got version {}",
          path.string(), kVersion, version());
}

/// An index that someone sends must not name files outside its folder.
bool stays_inside(const std::string& file) {
  const std::filesystem::path path(file);
  if (file.empty() || path.is_absolute() || file.find('\0') != std::string::npos) {
    return false;
  }
  for (const std::filesystem::path& part : path) {
    if (part == "..") {
      return false;
    }
  }
  return true;
}

template <class Number>
Number narrowed(std::int64_t value, const char* what, const std::filesystem::path& path) {
  require(value >= 0 && static_cast<std::uint64_t>(value) <= std::numeric_limits<Number>::max(),
          ErrorCode::invalid_data, "{}: {} must be in 0..{}, got {}", path.string(), what,
          std::numeric_limits<Number>::max(), value);
  return static_cast<Number>(value);
}

StoreEntry read_row(const Statement& row, const std::filesystem::path& path) {
  StoreEntry entry;
  entry.algorithm = row.text(0);
  if (row.integer(1) != kGlobalModel) {
    entry.client = ClientId{narrowed<std::uint32_t>(row.integer(1), "client", path)};
  }
  entry.round = narrowed<int>(row.integer(2), "round", path);
  entry.model_file = row.text(3);
  require(stays_inside(entry.model_file), ErrorCode::invalid_data,
          "{}: model_file must stay inside the run's folder, got \"{}\"", path.string(), entry.model_file);
  const std::span<const std::byte> blob = row.blob(4);
  require(blob.size() % sizeof(float) == 0, ErrorCode::invalid_data,
          "{}: a profile must be a whole number of floats, got {} bytes", path.string(), blob.size());
  entry.profile.resize(blob.size() / sizeof(float));
  if (!blob.empty()) {
    std::memcpy(entry.profile.data(), blob.data(), blob.size());
  }
  entry.distribution = narrowed<int>(row.integer(5), "distribution", path);
  entry.validation_score = row.number(6);
  entry.num_examples = narrowed<std::int64_t>(row.integer(7), "num_examples", path);
  return entry;
}

}  // namespace

void StoreIndex::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

StoreIndex::StoreIndex(const std::filesystem::path& path, Mode mode) : path_(path) {
  const bool create = mode == Mode::create;
  database_.reset(
      detail::open_database(path_, create ? detail::OpenMode::create : detail::OpenMode::read_only).release());
  prepare(database_.get(), path_, create);
}

void StoreIndex::insert(std::span<const StoreEntry> entries) {
  fault_point("index.insert");
  Transaction transaction(database_.get(), path_);
  Statement statement(database_.get(), path_, kInsert);
  for (const StoreEntry& entry : entries) {
    require(stays_inside(entry.model_file), ErrorCode::internal,
            "[store] model_file must stay inside the run's folder, got \"{}\"", entry.model_file);
    statement.bind(1, entry.algorithm);
    statement.bind(2, entry.client ? std::int64_t{to_index(*entry.client)} : kGlobalModel);
    statement.bind(3, std::int64_t{entry.round});
    statement.bind(4, entry.model_file);
    if (entry.profile.empty()) {
      statement.bind_null(5);
    } else {
      statement.bind(5, std::as_bytes(std::span(entry.profile)));
    }
    statement.bind(6, std::int64_t{entry.distribution});
    statement.bind(7, entry.validation_score);
    statement.bind(8, entry.num_examples);
    statement.step();
    statement.reset();
  }
  transaction.commit();
  fault_point("index.inserted");
}

void StoreIndex::remove_after(const std::string& algorithm, Round round) {
  Statement statement(database_.get(), path_, "DELETE FROM models WHERE algorithm = ?1 AND round > ?2");
  statement.bind(1, algorithm);
  statement.bind(2, std::int64_t{round});
  statement.step();
}

std::vector<StoreEntry> StoreIndex::list(const StoreQuery& query) const {
  Statement statement(database_.get(), path_, kList);
  if (query.algorithm) {
    statement.bind(1, *query.algorithm);
  }
  if (query.round) {
    statement.bind(2, std::int64_t{*query.round});
  }
  std::vector<StoreEntry> entries;
  while (statement.step()) {
    entries.push_back(read_row(statement, path_));
  }
  return entries;
}

std::string StoreIndex::digest(const std::string& algorithm) const {
  ArchiveWriter all;
  for (const StoreEntry& entry : list({algorithm, {}})) {
    all.put(entry.client.has_value());
    all.put(entry.client.value_or(ClientId{}));
    all.put<std::int32_t>(entry.round);
    all.put(std::string_view(entry.model_file));
    all.put(entry.profile);
    all.put<std::int32_t>(entry.distribution);
    all.put(entry.validation_score.has_value());
    all.put(entry.validation_score.value_or(0));
    all.put(entry.num_examples);
  }
  return sha256(all.bytes());
}

}  // namespace feroma
