#pragma once

#include <string>
#include <string_view>

#include "feroma/preview/canvas.h"

namespace feroma {

/// How text looks: `size` is the height of a capital letter in pixels.
struct TextStyle {
  double size = 9;
  Rgb colour;
  bool bold = false;
};

/// Width of the text in pixels. Letters, digits and common signs are known; others are drawn as a box.
[[nodiscard]] double text_width(std::string_view text, const TextStyle& style);
/// Draws UTF-8 text whose capitals start at `top` and whose first letter starts at `left`.
void text_(Canvas& canvas, double left, double top, std::string_view text, const TextStyle& style);
/// The text, or as much of its start as fits into `width` with three dots behind it.
[[nodiscard]] std::string fitting(std::string_view text, double width, const TextStyle& style);

}  // namespace feroma
