#include "feroma/preview/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "src/preview/glyphs.h"

namespace feroma {
namespace {

constexpr Rgb kTextWhite{255, 255, 255};
constexpr TextStyle kStyle{.size = 20, .colour = {0, 0, 0}};

std::vector<int> pixels_of(const std::string& text) {
  Canvas canvas(60, 60, kTextWhite);
  text_(canvas, 10, 10, text, kStyle);
  std::vector<int> values;
  for (const Rgb pixel : canvas.pixels()) {
    values.push_back(pixel.r);
  }
  return values;
}

TEST(Glyphs, AreStrokesOnTheGrid) {
  const std::string rows = "0123456789abcd";
  for (char32_t character = U' ' + 1; character <= U'~'; ++character) {
    const std::string_view strokes = detail::glyph(character);
    ASSERT_EQ(strokes.size() % 3, 2U) << static_cast<int>(character);
    for (std::size_t i = 0; i < strokes.size(); i += 3) {
      EXPECT_TRUE(strokes[i] >= '0' && strokes[i] <= '8') << strokes;
      EXPECT_NE(rows.find(strokes[i + 1]), std::string::npos) << strokes;
      EXPECT_TRUE(i + 2 >= strokes.size() || std::string("lhv ").find(strokes[i + 2]) != std::string::npos) << strokes;
    }
  }
}

TEST(Text, EveryCharacterLooksDifferent) {
  std::set<std::vector<int>> seen;
  for (char character = '!'; character <= '~'; ++character) {
    const bool is_new = seen.insert(pixels_of(std::string(1, character))).second;
    // I and l are the same line, as in many fonts.
    EXPECT_TRUE(is_new || character == 'l') << character;
  }
  for (const char* sign : {"°", "·", "×", "→", "–", "…"}) {
    EXPECT_TRUE(seen.insert(pixels_of(sign)).second || std::string(sign) == "–") << sign;
  }
}

TEST(Text, UnknownCharactersAreBoxes) {
  EXPECT_EQ(pixels_of("ß"), pixels_of("ü"));
  EXPECT_NE(pixels_of("ß"), pixels_of(" "));
  EXPECT_EQ(pixels_of("\xFF"), pixels_of("ü")) << "bytes that are no character at all";
}

TEST(Text, StaysInsideItsWidthAndBelowItsTop) {
  for (const char* text : {"g", "W", "1", "Q"}) {
    Canvas canvas(60, 60, kTextWhite);
    text_(canvas, 10, 10, text, kStyle);
    const double right = 10 + text_width(text, kStyle) + 2;
    for (int y = 0; y < 60; ++y) {
      for (int x = 0; x < 60; ++x) {
        const bool inside = x >= 8 && x <= right && y >= 8 && y <= 10 + 26 + 2;
        EXPECT_TRUE(inside || canvas.at(x, y) == kTextWhite) << text << " at " << x << ", " << y;
      }
    }
  }
}

TEST(Text, WidthGrowsWithSizeAndLength) {
  EXPECT_EQ(text_width("", kStyle), 0);
  EXPECT_NEAR(text_width("H", kStyle), 12, 1e-9);
  EXPECT_NEAR(text_width("HH", kStyle), 12 + 5.2 + 12, 1e-9);
  EXPECT_NEAR(text_width("90°", {.size = 40, .colour = {}}), 2 * text_width("90°", kStyle), 1e-9);
}

TEST(Text, FittingCutsWholeCharacters) {
  EXPECT_EQ(fitting("abc", 1000, kStyle), "abc");
  const double room = text_width("→→…", kStyle);
  EXPECT_EQ(fitting("→→→→→", room, kStyle), "→→…");
  EXPECT_EQ(fitting("abcdef", 0, kStyle), "…");
}

}  // namespace
}  // namespace feroma
