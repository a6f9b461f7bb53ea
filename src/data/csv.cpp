#include "feroma/data/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "feroma/core/error.h"
#include "feroma/core/files.h"
#include "feroma/core/number.h"
#include "feroma/core/options.h"

namespace feroma {
namespace {

/// Walks the text cell by cell.
class CsvScanner {
 public:
  CsvScanner(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  [[nodiscard]] bool at_end() const { return position_ >= text_.size(); }
  [[nodiscard]] std::size_t line() const { return line_; }
  /// Appends the next cell to `out`; true if it was the last one of its row.
  bool next_cell(std::string& out) {
    return position_ < text_.size() && text_[position_] == '"' ? quoted(out) : plain(out);
  }

 private:
  [[noreturn]] void refuse(std::string_view rule) const {
    fail(ErrorCode::invalid_data, "[csv] {}:{}: {} (at offset {})", name_, line_, rule, position_);
  }
  /// Steps over a comma (false) or a line's end (true).
  bool finish_cell() {
    if (at_end()) {
      return true;
    }
    if (text_[position_] == ',') {
      ++position_;
      return false;
    }
    if (text_[position_] == '\r') {
      ++position_;
      if (at_end() || text_[position_] != '\n') {
        refuse("a carriage return must be followed by a line feed");
      }
    }
    ++position_;
    ++line_;
    return true;
  }
  bool plain(std::string& out) {
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", position_), text_.size());
    out += text_.substr(position_, end - position_);
    position_ = end;
    if (!at_end() && text_[position_] == '"') {
      refuse("a quote must open its cell or be doubled inside quotes");
    }
    return finish_cell();
  }
  bool quoted(std::string& out) {
    ++position_;
    while (true) {
      const std::size_t quote = text_.find('"', position_);
      if (quote == std::string_view::npos) {
        refuse("a quoted cell must be closed");
      }
      const std::string_view piece = text_.substr(position_, quote - position_);
      line_ += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
      out += piece;
      position_ = quote + 1;
      if (at_end() || text_[position_] != '"') {
        break;
      }
      out += '"';
      ++position_;
    }
    if (!at_end() && text_[position_] != ',' && text_[position_] != '\r' && text_[position_] != '\n') {
      refuse("a closing quote must be followed by a comma or the end of the line");
    }
    return finish_cell();
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
  std::size_t line_ = 1;
};

std::vector<std::string> read_header(CsvScanner& scanner, const std::string& name) {
  std::vector<std::string> columns;
  bool last = false;
  while (!last) {
    std::string cell;
    last = scanner.next_cell(cell);
    columns.push_back(std::move(cell));
  }
  std::set<std::string_view> seen;
  for (const std::string& column : columns) {
    require(!column.empty(), ErrorCode::invalid_data, "[csv] {}:1: every column must have a name, got an empty one",
            name);
    require(seen.insert(column).second, ErrorCode::invalid_data,
            "[csv] {}:1: column names must differ, got \"{}\" twice", name, column);
  }
  return columns;
}

/// The columns for a message: a row of measurements may have thousands.
std::string list_of(std::span<const std::string> columns) {
  constexpr std::size_t kMost = 20;
  const std::size_t named = std::min(columns.size(), kMost);
  return fmt::format("{}{}", fmt::join(columns.first(named), ", "),
                     columns.size() > named ? fmt::format(" and {} more", columns.size() - named) : "");
}

}  // namespace

std::string_view CsvTable::cell(std::size_t row, std::size_t column) const {
  const std::size_t i = row * columns_.size() + column;
  const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
  return std::string_view(text_).substr(begin, ends_[i] - begin);
}

bool CsvTable::has_column(std::string_view column) const {
  return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
}

std::size_t CsvTable::column(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  const std::string near = found == columns_.end() ? nearest_name(column, columns_) : "";
  require(found != columns_.end(), ErrorCode::invalid_data, "[csv] {}: must have a column \"{}\", got {}{}", name_,
          column, found == columns_.end() ? list_of(columns_) : "",
          near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near));
  return static_cast<std::size_t>(found - columns_.begin());
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const auto value = parse_number<double>(cell(row, column));
  require(value && std::isfinite(*value), ErrorCode::invalid_data,
          "[csv] {}:{}: column \"{}\" must be a finite number, got \"{}\"", name_, line(row), columns_[column],
          cell(row, column));
  return *value;
}

std::int64_t CsvTable::integer(std::size_t row, std::size_t column) const {
  const auto value = parse_number<std::int64_t>(cell(row, column));
  require(value.has_value(), ErrorCode::invalid_data, "[csv] {}:{}: column \"{}\" must be a whole number, got \"{}\"",
          name_, line(row), columns_[column], cell(row, column));
  return *value;
}

CsvTable parse_csv(std::string_view text, const std::string& name, std::size_t max_rows) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  const std::size_t valid = valid_utf8_prefix(text);
  require(valid == text.size(), ErrorCode::invalid_data,
          "[csv] {}:{}: the text must be UTF-8, got byte {:02x} at offset {}", name,
          1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n'),
          valid < text.size() ? static_cast<unsigned char>(text[valid]) : 0U, valid);
  require(!text.empty(), ErrorCode::invalid_data, "[csv] {}: must have a header, got an empty file", name);
  CsvScanner scanner(text, name);
  CsvTable table;
  table.name_ = name;
  table.columns_ = read_header(scanner, name);
  while (!scanner.at_end() && table.rows() < max_rows) {
    const std::size_t line = scanner.line();
    std::size_t cells = 0;
    bool last = false;
    while (!last) {
      last = scanner.next_cell(table.text_);
      table.ends_.push_back(table.text_.size());
      ++cells;
    }
    require(cells == table.columns_.size(), ErrorCode::invalid_data,
            "[csv] {}:{}: every row must have {} cells like the header, got {}", name, line, table.columns_.size(),
            cells);
    table.lines_.push_back(line);
  }
  return table;
}

CsvTable read_csv(const std::filesystem::path& path, std::size_t max_rows) {
  return parse_csv(read_text(path), path.string(), max_rows);
}

}  // namespace feroma
