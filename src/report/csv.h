#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace feroma::detail {

/// A text as one field of a line: quoted where it has to be.
[[nodiscard]] std::string csv_field(std::string_view text);

/// The fields of one line without its end; a quote out of place is an invalid_data error that names `where`.
[[nodiscard]] std::vector<std::string> split_csv_line(std::string_view line, const std::string& where);

/// Where a file has its columns, as its first line says. Another version may have written other ones, in any order.
class CsvColumns {
 public:
  /// A column that is there twice is an invalid_data error that names `where`.
  CsvColumns(std::string_view header, const std::string& where);

  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// Absent where the file has no such column.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace feroma::detail
