#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace feroma {

struct Rgb {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// Pixels from (x, y), the upper left one, to the right and down.
struct Rect {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
  friend bool operator==(const Rect&, const Rect&) = default;
};

/// A place between pixels: pixel (x, y) covers x..x+1, y..y+1.
struct Point {
  double x = 0;
  double y = 0;
};

/// A picture in memory. Everything drawn outside of it is cut off.
class Canvas {
 public:
  Canvas(int width, int height, Rgb paper);

  [[nodiscard]] int width() const { return width_; }
  [[nodiscard]] int height() const { return height_; }
  /// Rows from top to bottom.
  [[nodiscard]] std::span<const Rgb> pixels() const { return pixels_; }
  [[nodiscard]] Rgb at(int x, int y) const;
  /// Mixes a colour into a pixel; coverage 1 replaces it.
  void blend_(int x, int y, Rgb colour, double coverage = 1);

 private:
  int width_;
  int height_;
  std::vector<Rgb> pixels_;
};

/// The colour part of the way from one to another.
[[nodiscard]] Rgb mix(Rgb from, Rgb to, double part);

void fill_(Canvas& canvas, Rect area, Rgb colour);
/// A border inside `area`. With a dash it alternates, dash by dash clockwise, between the colour and a pale one.
void frame_(Canvas& canvas, Rect area, int thickness, Rgb colour, int dash = 0);
/// A picture of width x height pixels, stretched over `area` without smoothing.
void blit_(Canvas& canvas, Rect area, std::span<const Rgb> picture, int width, int height);
/// A smooth line through the points with round ends.
void polyline_(Canvas& canvas, std::span<const Point> points, double thickness, Rgb colour);
/// One bar per height in 0..1, rising from the lower edge of `area`; a height above nothing is at least one pixel.
void bars_(Canvas& canvas, Rect area, std::span<const double> heights, Rgb colour);

}  // namespace feroma
