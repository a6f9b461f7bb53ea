#include "feroma/sweep/results.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "feroma/core/error.h"
#include "report/result_fields.h"
#include "store/sqlite.h"

namespace feroma {
namespace {

using detail::Statement;
using detail::Transaction;

/// Says whose file it is; chosen once, never changed.
constexpr std::int64_t kApplication = 0x4645'524d;
constexpr std::int64_t kVersion = 1;

using DbValue = std::variant<std::monostate, std::int64_t, double, std::string>;

struct Column {
  std::string name;
  std::string type;
  DbValue value = {};
};

/// A column that shows a key of the config.
struct ConfigColumn {
  const char* name;
  const char* type;
  const char* key;
};
constexpr std::array kConfigColumns{
    ConfigColumn{"dataset", "TEXT", "scenario.dataset"},
    ConfigColumn{"shift", "TEXT", "scenario.shift"},
    ConfigColumn{"level", "TEXT", "scenario.level"},
    ConfigColumn{"generator", "TEXT", "scenario.generator"},
    ConfigColumn{"drift_mode", "TEXT", "scenario.drift_mode"},
    ConfigColumn{"drifts", "INTEGER", "scenario.drifts"},
    ConfigColumn{"clients", "INTEGER", "scenario.clients"},
    ConfigColumn{"rounds", "INTEGER", "scenario.rounds"},
    ConfigColumn{"seed", "INTEGER", "scenario.seed"},
    ConfigColumn{"few_labels", "INTEGER", "scenario.few_labels"},
    ConfigColumn{"unseen_rate", "REAL", "scenario.unseen_rate"},
    ConfigColumn{"alpha", "REAL", "scenario.alpha"},
    ConfigColumn{"model", "TEXT", "training.model"},
    ConfigColumn{"engine", "TEXT", "training.engine"},
    ConfigColumn{"privacy_mode", "TEXT", "privacy.mode"},
    ConfigColumn{"epsilon_total", "REAL", "privacy.epsilon_total"},
    ConfigColumn{"algorithm", "TEXT", "algorithm.0.name"},
    ConfigColumn{"label", "TEXT", "algorithm.0.label"},
    ConfigColumn{"preset", "TEXT", "algorithm.0.preset"},
};

DbValue db_value(const SettingValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) {
    return std::int64_t{*flag ? 1 : 0};
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return *integer;
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  return std::get<std::string>(value);
}

// A figure that does not apply is NULL, as it is null in summary.json.
DbValue db_value(double value) { return std::isfinite(value) ? DbValue(value) : DbValue(); }
DbValue db_value(std::int64_t value) { return value; }
DbValue db_value(const std::string& value) { return value; }
template <class T>
DbValue db_value(const std::optional<T>& value) {
  return value ? db_value(*value) : DbValue();
}

constexpr const char* type_of(const std::string&) { return "TEXT"; }
constexpr const char* type_of(std::int64_t) { return "INTEGER"; }
constexpr const char* type_of(double) { return "REAL"; }
template <class T>
constexpr const char* type_of(const std::optional<T>&) {
  return type_of(T{});
}

/// The figures of a result as columns; what the config says already is left to it.
class FigureColumns {
 public:
  FigureColumns(std::vector<Column>& columns, bool known) : columns_(columns), known_(known) {}

  template <class T>
  void operator()(const std::string& name, const T& value) const {
    for (const ConfigColumn& column : kConfigColumns) {
      if (name == column.name) {
        return;
      }
    }
    columns_.push_back({name, type_of(value), known_ ? db_value(value) : DbValue()});
  }
  void operator()(const std::string& name, const std::map<std::string, double>& seconds) const {
    for (const char* stage : detail::kStages) {
      const auto found = seconds.find(stage);
      columns_.push_back(
          {fmt::format("{}_{}", name, stage), "REAL", found == seconds.end() ? DbValue() : db_value(found->second)});
    }
  }

 private:
  std::vector<Column>& columns_;
  bool known_;
};

/// A cell as a row, one column after the other.
std::vector<Column> columns_of(const CellRecord& cell) {
  std::vector<Column> columns{{"cell", "TEXT PRIMARY KEY NOT NULL", cell.key},
                              {"status", "TEXT NOT NULL", std::string(name_of(cell.state))},
                              {"reason", "TEXT", cell.reason.empty() ? DbValue() : DbValue(cell.reason)},
                              {"folder", "TEXT NOT NULL", "cells/" + cell.key},
                              {"started", "TEXT", cell.times.started.empty() ? DbValue() : cell.times.started},
                              {"ended", "TEXT", db_value(cell.times.ended)}};
  for (const ConfigColumn& column : kConfigColumns) {
    const auto found = cell.config.find(column.key);
    columns.push_back(
        {column.name, column.type, found == cell.config.end() ? DbValue() : db_value(found->second.value)});
  }
  const ResultRecord none;
  detail::visit_result(cell.result ? *cell.result : none, FigureColumns(columns, cell.result.has_value()));
  return columns;
}

void bind(Statement& statement, int index, const DbValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    statement.bind(index, *integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    statement.bind(index, std::optional(*number));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    statement.bind(index, *text);
  } else {
    statement.bind_null(index);
  }
}

std::int64_t single_integer(sqlite3* database, const std::filesystem::path& path, const char* sql) {
  Statement statement(database, path, sql);
  return statement.step() ? statement.integer(0) : 0;
}

/// Runs `action`; what it says of a damaged file ends with what to do about it.
template <class Action>
void advise(Action action) {
  try {
    action();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_data) {
      throw;
    }
    fail(ErrorCode::invalid_data, "{}; unless somebody needs the file, delete it: it is made anew from the cells",
         error.what());
  }
}

}  // namespace

std::string results_schema() {
  std::string columns;
  for (const Column& column : columns_of({})) {
    columns += fmt::format("{}  {} {}", columns.empty() ? "" : ",\n", column.name, column.type);
  }
  return fmt::format(
      "CREATE TABLE cells(\n{}\n);\n"
      "CREATE TABLE settings(\n  cell TEXT NOT NULL,\n  name TEXT NOT NULL,\n  value,\n  PRIMARY KEY(cell, name)\n) "
      "WITHOUT ROWID;\n"
      "CREATE TABLE sweeps(\n  sweep TEXT NOT NULL,\n  cell TEXT NOT NULL,\n  point TEXT NOT NULL,\n"
      "  PRIMARY KEY(sweep, cell)\n) WITHOUT ROWID;\n",
      columns);
}

void ResultsDb::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

ResultsDb::ResultsDb(std::filesystem::path path) : path_(std::move(path)) {
  bool empty = false;
  bool foreign = false;
  std::int64_t version = 0;
  advise([&] {
    database_.reset(detail::open_database(path_, detail::OpenMode::create).release());
    empty = single_integer(database_.get(), path_, "SELECT count(*) FROM sqlite_master") == 0;
    foreign = !empty && single_integer(database_.get(), path_, "PRAGMA application_id") != kApplication;
    version = single_integer(database_.get(), path_, "PRAGMA user_version");
  });
  require(!foreign, ErrorCode::invalid_data, "{}: must be a results database, and it is one of something else",
          path_.string());
  require(
      version <= kVersion, ErrorCode::invalid_data,
      "{}: version {} is newer than {}, the newest that this version writes; unless somebody needs the file, delete "
      "it: it is made anew from the cells",
      path_.string(), version, kVersion);
  // With a log beside it somebody who reads for long does not keep a sweep from writing.
  advise([&] { detail::execute(database_.get(), path_, "PRAGMA journal_mode = WAL"); });
  if (empty) {
    rebuild({}, {});
  }
}

void ResultsDb::rebuild(std::span<const CellRecord> cells, std::span<const SweepList> sweeps) {
  advise([&] {
    Transaction transaction(database_.get(), path_);
    make_tables();
    for (const CellRecord& cell : cells) {
      insert(cell);
    }
    insert(sweeps);
    transaction.commit();
  });
}

void ResultsDb::update(const CellRecord& cell) {
  advise([&] {
    Transaction transaction(database_.get(), path_);
    for (const char* sql : {"DELETE FROM cells WHERE cell = ?1", "DELETE FROM settings WHERE cell = ?1"}) {
      Statement statement(database_.get(), path_, sql);
      statement.bind(1, cell.key);
      statement.step();
    }
    insert(cell);
    transaction.commit();
  });
}

void ResultsDb::make_tables() {
  // Tables and all: an earlier version may have had other columns.
  const std::string sql = fmt::format(
      "DROP TABLE IF EXISTS cells; DROP TABLE IF EXISTS settings; DROP TABLE IF EXISTS sweeps;"
      "PRAGMA application_id = {}; PRAGMA user_version = {}; {}",
      kApplication, kVersion, results_schema());
  detail::execute(database_.get(), path_, sql.c_str());
}

void ResultsDb::insert(std::span<const SweepList> sweeps) {
  Statement statement(database_.get(), path_, "INSERT INTO sweeps(sweep, cell, point) VALUES(?1, ?2, ?3)");
  for (const SweepList& sweep : sweeps) {
    for (const auto& [key, point] : sweep.points) {
      statement.bind(1, sweep.name);
      statement.bind(2, key);
      statement.bind(3, point);
      statement.step();
      statement.reset();
    }
  }
}

void ResultsDb::insert(const CellRecord& cell) {
  const std::vector<Column> columns = columns_of(cell);
  std::string names;
  std::string marks;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    names += (i == 0 ? "" : ", ") + columns[i].name;
    marks += fmt::format("{}?{}", i == 0 ? "" : ", ", i + 1);
  }
  const std::string sql = fmt::format("INSERT INTO cells({}) VALUES({})", names, marks);
  Statement row(database_.get(), path_, sql.c_str());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    bind(row, static_cast<int>(i) + 1, columns[i].value);
  }
  row.step();
  Statement setting(database_.get(), path_, "INSERT INTO settings(cell, name, value) VALUES(?1, ?2, ?3)");
  for (const auto& [key, given] : cell.config) {
    const DbValue value = db_value(given.value);
    setting.bind(1, cell.key);
    setting.bind(2, key);
    bind(setting, 3, value);
    setting.step();
    setting.reset();
  }
}

}  // namespace feroma
