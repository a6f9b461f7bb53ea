#include "store/sqlite.h"

#include "feroma/core/error.h"

namespace feroma::detail {

namespace {

constexpr int kBusyMilliseconds = 5000;

}  // namespace

Database open_database(const std::filesystem::path& path, OpenMode mode) {
  const int flags = mode == OpenMode::create ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &opened, flags, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) {
    fail_sqlite(opened, path);
  }
  sqlite3_busy_timeout(opened, kBusyMilliseconds);
  return database;
}

void fail_sqlite(sqlite3* database, const std::filesystem::path& path) {
  const int code = sqlite3_errcode(database);
  const bool damaged = code == SQLITE_NOTADB || code == SQLITE_CORRUPT;
  fail(damaged ? ErrorCode::invalid_data : ErrorCode::io, "{}: {}", path.string(), sqlite3_errmsg(database));
}

void execute(sqlite3* database, const std::filesystem::path& path, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK) {
    fail_sqlite(database, path);
  }
}

Statement::Statement(sqlite3* database, const std::filesystem::path& path, const char* sql)
    : database_(database), path_(path) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  statement_.reset(statement);
  check(code);
}

void Statement::check(int code) const {
  if (code != SQLITE_OK) {
    fail_sqlite(database_, path_);
  }
}

void Statement::bind(int index, std::int64_t value) { check(sqlite3_bind_int64(statement_.get(), index, value)); }

void Statement::bind(int index, const std::string& text) {
  check(sqlite3_bind_text64(statement_.get(), index, text.data(), text.size(), nullptr, SQLITE_UTF8));
}

void Statement::bind(int index, std::optional<double> value) {
  if (value) {
    check(sqlite3_bind_double(statement_.get(), index, *value));
  } else {
    bind_null(index);
  }
}

void Statement::bind(int index, std::span<const std::byte> blob) {
  check(sqlite3_bind_blob64(statement_.get(), index, blob.data(), blob.size(), nullptr));
}

void Statement::bind_null(int index) { check(sqlite3_bind_null(statement_.get(), index)); }

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    fail_sqlite(database_, path_);
  }
  return code == SQLITE_ROW;
}

void Statement::reset() { check(sqlite3_reset(statement_.get())); }

std::int64_t Statement::integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return text == nullptr ? ""
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)));
}

std::optional<double> Statement::number(int column) const {
  if (sqlite3_column_type(statement_.get(), column) == SQLITE_NULL) {
    return std::nullopt;
  }
  return sqlite3_column_double(statement_.get(), column);
}

std::span<const std::byte> Statement::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

Transaction::Transaction(sqlite3* database, const std::filesystem::path& path) : database_(database), path_(path) {
  execute(database_, path_, "BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (open_) {
    sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
}

void Transaction::commit() {
  execute(database_, path_, "COMMIT");
  open_ = false;
}

}  // namespace feroma::detail
