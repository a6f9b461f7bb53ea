#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace feroma {

/// A table of text cells, all rows equally long; held as one text so that millions of cells stay small.
class CsvTable {
 public:
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return lines_.size(); }
  [[nodiscard]] std::string_view cell(std::size_t row, std::size_t column) const;
  /// Line of the file on which a row starts, from 1.
  [[nodiscard]] std::size_t line(std::size_t row) const { return lines_[row]; }

  [[nodiscard]] bool has_column(std::string_view column) const;
  /// Where a column is; an unknown one is an invalid_data error that lists those there are.
  [[nodiscard]] std::size_t column(std::string_view column) const;
  /// A cell as a finite number, or an invalid_data error naming file, line and column.
  [[nodiscard]] double number(std::size_t row, std::size_t column) const;
  [[nodiscard]] std::int64_t integer(std::size_t row, std::size_t column) const;

 private:
  friend CsvTable parse_csv(std::string_view, const std::string&, std::size_t);

  std::string name_;
  std::vector<std::string> columns_;
  std::string text_;
  std::vector<std::size_t> ends_;   ///< end of each cell in text_, row by row
  std::vector<std::size_t> lines_;  ///< one per row
};

/**
 * Parses RFC 4180: a header, commas, optional quotes (a doubled quote inside them is one), LF or CRLF. Rows of another
 * length than the header, text that is not UTF-8 and stray quotes are invalid_data errors that name the line. Rows from
 * `max_rows` on are not read.
 */
[[nodiscard]] CsvTable parse_csv(std::string_view text, const std::string& name,
                                 std::size_t max_rows = std::numeric_limits<std::size_t>::max());
[[nodiscard]] CsvTable read_csv(const std::filesystem::path& path,
                                std::size_t max_rows = std::numeric_limits<std::size_t>::max());

/// Where text stops being UTF-8; its size where it never does.
[[nodiscard]] std::size_t valid_utf8_prefix(std::string_view text);

}  // namespace feroma
