#pragma once

#include <string_view>

namespace feroma::detail {

/// Height of a capital letter on the grid of glyphs; small letters start at row 3, tails end at row 13.
inline constexpr double kCapHeight = 10;

/**
 * How a character is drawn, as strokes on a grid of columns 0..8 and rows 0..d. A stroke is a place (column and row),
 * then steps to further ones: `l` a straight line, `h` a quarter of an ellipse that leaves horizontally, `v` one that
 * leaves vertically. A space starts another stroke. Unknown characters are a box.
 */
[[nodiscard]] std::string_view glyph(char32_t character);

}  // namespace feroma::detail
