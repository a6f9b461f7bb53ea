#include "report/text_grid.h"

#include <algorithm>

namespace feroma::detail {
namespace {

constexpr std::size_t kBetween = 2;

/// Columns on the screen, for text without combining or wide characters.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string toned(const TextCell& cell, bool colour) {
  if (!colour || cell.tone == Tone::plain) {
    return cell.text;
  }
  return (cell.tone == Tone::good ? "\033[36m" : "\033[33m") + cell.text + "\033[0m";
}

}  // namespace

std::string text_grid(const std::vector<std::vector<TextCell>>& rows, std::size_t left, bool colour) {
  std::vector<std::size_t> widths;
  for (const std::vector<TextCell>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], width_of(row[c].text));
    }
  }
  std::string text;
  for (const std::vector<TextCell>& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string space(widths[c] - width_of(row[c].text), ' ');
      text.append(c == 0 ? 0 : kBetween, ' ');
      text += c < left ? toned(row[c], colour) + space : space + toned(row[c], colour);
    }
    while (text.ends_with(' ')) {
      text.pop_back();
    }
    text += '\n';
  }
  return text;
}

}  // namespace feroma::detail
