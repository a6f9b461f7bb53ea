#include "report/csv.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma::detail {

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string field = "\"";
  for (const char c : text) {
    field += c;
    if (c == '"') {
      field += c;
    }
  }
  field += '"';
  return field;
}

std::vector<std::string> split_csv_line(std::string_view line, const std::string& where) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (inside && c == '"') {
      inside = false;
      require(i + 1 == line.size() || line[i + 1] == ',', ErrorCode::invalid_data,
              "{}: column {} has text after its closing quote", where, fields.size());
    } else if (!inside && c == '"') {
      require(fields.back().empty(), ErrorCode::invalid_data, "{}: column {} has a quote inside", where, fields.size());
      inside = true;
    } else if (!inside && c == ',') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  require(!inside, ErrorCode::invalid_data, "{}: column {} has no closing quote", where, fields.size());
  return fields;
}

CsvColumns::CsvColumns(std::string_view header, const std::string& where) : names_(split_csv_line(header, where)) {
  for (auto name = names_.begin(); name != names_.end(); ++name) {
    require(std::find(names_.begin(), name, *name) == name, ErrorCode::invalid_data, "{}: column {} is there twice",
            where, *name);
  }
}

std::optional<std::size_t> CsvColumns::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  return found == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names_.begin()));
}

}  // namespace feroma::detail
