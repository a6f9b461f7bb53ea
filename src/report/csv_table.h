#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/append_file.h"
#include "report/csv.h"

namespace feroma::detail {

/// A column of a table, and what it says of a row.
template <class Row>
struct CsvColumn {
  std::string_view name;
  void (*put)(std::string& line, const Row& row);
};

/// The first line of a file without its end; absent where it has no whole one.
[[nodiscard]] inline std::optional<std::string> first_line(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  return std::getline(file, line) && !file.eof() ? std::optional(line) : std::nullopt;
}

/// A growing CSV file. One that is there already keeps its columns: what it has no column for is left out, and columns
/// that nobody knows stay empty.
template <class Row>
class CsvTable {
 public:
  CsvTable(const std::filesystem::path& path, bool create, std::span<const CsvColumn<Row>> known)
      : file_(path, create), known_(known) {
    if (create) {
      begin();
    } else if (const std::optional<std::string> header = first_line(path)) {
      keep_columns(CsvColumns(*header, path.string() + ":1"));
    }
  }

  void add(const Row& row) {
    line_.clear();
    for (const CsvColumn<Row>& column : columns_) {
      line_ += &column == columns_.data() ? "" : ",";
      if (column.put != nullptr) {
        column.put(line_, row);
      }
    }
    line_ += '\n';
    file_.append(line_);
  }
  std::uint64_t flush() { return file_.flush(); }
  /// Nothing is left of a file that was given up: it begins anew.
  void truncate_to(std::uint64_t size) {
    file_.truncate_to(size);
    if (size == 0) {
      begin();
    }
  }
  [[nodiscard]] GrownFile grown() const { return file_.grown(); }

 private:
  void begin() {
    columns_.assign(known_.begin(), known_.end());
    std::string header;
    for (const CsvColumn<Row>& column : columns_) {
      header += fmt::format("{}{}", header.empty() ? "" : ",", column.name);
    }
    file_.append(header + "\n");
  }
  void keep_columns(const CsvColumns& there) {
    for (const std::string& name : there.names()) {
      const auto found =
          std::find_if(known_.begin(), known_.end(), [&](const CsvColumn<Row>& column) { return column.name == name; });
      columns_.push_back(found == known_.end() ? CsvColumn<Row>{} : *found);
    }
  }

  AppendFile file_;
  std::span<const CsvColumn<Row>> known_;
  std::vector<CsvColumn<Row>> columns_;
  std::string line_;
};

}  // namespace feroma::detail
