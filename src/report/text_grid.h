#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report/cell_text.h"

namespace feroma::detail {

struct TextCell {
  std::string text;
  Tone tone = Tone::plain;
};

/// Rows as aligned columns: the first `left` ones flush left, the others right. With `colour`, good is blue and bad is
/// yellow, which most people can tell apart.
[[nodiscard]] std::string text_grid(const std::vector<std::vector<TextCell>>& rows, std::size_t left, bool colour);

}  // namespace feroma::detail
