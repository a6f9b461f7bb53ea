#include "feroma/report/console.h"

#include <algorithm>
#include <vector>

#include "report/result_table.h"

namespace feroma {
namespace {

constexpr std::size_t kGap = 2;

/// Columns on the screen, for text without combining or wide characters.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

/// Names on the left, numbers on the right.
std::string padded(const std::string& text, std::size_t width, bool left) {
  const std::string space(width - width_of(text), ' ');
  return left ? text + space : space + text;
}

}  // namespace

std::string results_table(std::span<const ResultRecord> results) {
  std::vector<std::vector<std::string>> rows(results.size() + 1);
  rows[0].push_back("algorithm");
  for (std::size_t i = 0; i < results.size(); ++i) {
    rows[i + 1].push_back(results[i].label);
  }
  for (const detail::ResultColumn& column : detail::result_columns(results)) {
    rows[0].push_back(column.title);
    for (std::size_t i = 0; i < results.size(); ++i) {
      rows[i + 1].push_back(column.texts[i]);
    }
  }
  std::string table;
  std::vector<std::size_t> widths(rows[0].size(), 0);
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(row[c]));
    }
  }
  for (const std::vector<std::string>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      table.append(c == 0 ? 0 : kGap, ' ');
      table += padded(row[c], widths[c], /*left=*/c == 0);
    }
    table += '\n';
  }
  return table;
}

}  // namespace feroma
