#include "feroma/preview/text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "preview/glyphs.h"

namespace feroma {
namespace {

using detail::glyph;
using detail::kCapHeight;

/// In units of the glyph grid.
constexpr double kLetterGap = 2.6;
constexpr double kSpaceWidth = 5;
constexpr double kRegular = 1.25;
constexpr double kBold = 1.9;
/// Thinner lines than this would be gray on small text.
constexpr double kThinnest = 1.15;
constexpr int kArcSteps = 6;

/// Characters of UTF-8 text; a byte that is not part of one counts as a character of its own.
std::vector<char32_t> characters(std::string_view text) {
  std::vector<char32_t> found;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<std::uint8_t>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : (first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : (first >= 0xC0 ? 2 : 1)));
    char32_t code = length == 1 ? first : first & (0x7FU >> length);
    for (std::size_t k = 1; k < length && i + k < text.size(); ++k) {
      code = code << 6U | (static_cast<std::uint8_t>(text[i + k]) & 0x3FU);
    }
    found.push_back(code);
    i += length;
  }
  return found;
}

int grid_row(char digit) { return digit >= 'a' ? digit - 'a' + 10 : digit - '0'; }

double glyph_width(char32_t character) {
  if (character == U' ') {
    return kSpaceWidth;
  }
  int right = 0;
  const std::string_view strokes = glyph(character);
  for (std::size_t i = 0; i < strokes.size(); i += 3) {
    right = std::max(right, strokes[i] - '0');
  }
  return right + kLetterGap;
}

/// Appends the way from the last point to `end` on a quarter of an ellipse.
void append_arc(std::vector<Point>& points, Point end, bool horizontal_first) {
  const Point start = points.back();
  for (int step = 1; step <= kArcSteps; ++step) {
    const double angle = std::numbers::pi / 2 * step / kArcSteps;
    const double early = std::sin(angle);
    const double late = 1 - std::cos(angle);
    points.push_back({start.x + (end.x - start.x) * (horizontal_first ? early : late),
                      start.y + (end.y - start.y) * (horizontal_first ? late : early)});
  }
}

void draw_glyph(Canvas& canvas, double left, double top, std::string_view strokes, double scale, double thickness,
                Rgb colour) {
  std::vector<Point> points;
  for (std::size_t i = 0; i + 1 < strokes.size(); i += 3) {
    const Point place{left + scale * (strokes[i] - '0'), top + scale * grid_row(strokes[i + 1])};
    const char step = i == 0 ? ' ' : strokes[i - 1];
    if (step == 'h' || step == 'v') {
      append_arc(points, place, step == 'h');
      continue;
    }
    if (step == ' ') {
      polyline_(canvas, points, thickness, colour);
      points.clear();
    }
    points.push_back(place);
  }
  polyline_(canvas, points, thickness, colour);
}

}  // namespace

double text_width(std::string_view text, const TextStyle& style) {
  double units = 0;
  for (const char32_t character : characters(text)) {
    units += glyph_width(character);
  }
  return text.empty() ? 0 : (units - kLetterGap) * style.size / kCapHeight;
}

void text_(Canvas& canvas, double left, double top, std::string_view text, const TextStyle& style) {
  const double scale = style.size / kCapHeight;
  const double thickness =
      std::max(kThinnest * (style.bold ? kBold / kRegular : 1), scale * (style.bold ? kBold : kRegular));
  for (const char32_t character : characters(text)) {
    draw_glyph(canvas, left, top, glyph(character), scale, thickness, style.colour);
    left += glyph_width(character) * scale;
  }
}

std::string fitting(std::string_view text, double width, const TextStyle& style) {
  if (text_width(text, style) <= width) {
    return std::string(text);
  }
  std::string start(text);
  while (!start.empty() && text_width(start + "…", style) > width) {
    // A character's later bytes all begin with the bits 10.
    do {
      const bool inside = (static_cast<std::uint8_t>(start.back()) & 0xC0U) == 0x80U;
      start.pop_back();
      if (!inside) {
        break;
      }
    } while (!start.empty());
  }
  return start + "…";
}

}  // namespace feroma
