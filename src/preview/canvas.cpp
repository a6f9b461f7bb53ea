#include "feroma/preview/canvas.h"

#include <algorithm>
#include <cmath>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// The pale part of a dashed border: close to white, so that the dashes stand out and the border stays visible.
constexpr Rgb kWhite{255, 255, 255};
constexpr double kPale = 0.75;

double distance_to_segment(Point p, Point a, Point b) {
  const double dx = b.x - a.x;
  const double dy = b.y - a.y;
  const double length2 = dx * dx + dy * dy;
  const double along = length2 > 0 ? std::clamp(((p.x - a.x) * dx + (p.y - a.y) * dy) / length2, 0.0, 1.0) : 0.0;
  return std::hypot(p.x - (a.x + along * dx), p.y - (a.y + along * dy));
}

}  // namespace

Canvas::Canvas(int width, int height, Rgb paper) : width_(width), height_(height) {
  require(width >= 1 && height >= 1, ErrorCode::internal, "[canvas] sides must be >= 1, got {} x {}", width, height);
  pixels_.assign(static_cast<std::size_t>(width) * static_cast<std::size_t>(height), paper);
}

Rgb Canvas::at(int x, int y) const {
  require(x >= 0 && x < width_ && y >= 0 && y < height_, ErrorCode::internal,
          "[canvas] a pixel must be inside {} x {}, got ({}, {})", width_, height_, x, y);
  return pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
}

void Canvas::blend_(int x, int y, Rgb colour, double coverage) {
  if (x >= 0 && x < width_ && y >= 0 && y < height_) {
    Rgb& pixel = pixels_[static_cast<std::size_t>(y) * static_cast<std::size_t>(width_) + static_cast<std::size_t>(x)];
    pixel = mix(pixel, colour, coverage);
  }
}

Rgb mix(Rgb from, Rgb to, double part) {
  const auto channel = [part](std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(std::lround(a + (b - a) * std::clamp(part, 0.0, 1.0)));
  };
  return {channel(from.r, to.r), channel(from.g, to.g), channel(from.b, to.b)};
}

void fill_(Canvas& canvas, Rect area, Rgb colour) {
  for (int y = std::max(area.y, 0); y < std::min(area.y + area.height, canvas.height()); ++y) {
    for (int x = std::max(area.x, 0); x < std::min(area.x + area.width, canvas.width()); ++x) {
      canvas.blend_(x, y, colour);
    }
  }
}

void frame_(Canvas& canvas, Rect area, int thickness, Rgb colour, int dash) {
  const Rgb pale = mix(colour, kWhite, kPale);
  const auto at = [&](int distance) { return dash > 0 && distance / dash % 2 == 1 ? pale : colour; };
  const int right = area.x + area.width;
  const int bottom = area.y + area.height;
  for (int i = 0; i < area.width; ++i) {
    fill_(canvas, {area.x + i, area.y, 1, thickness}, at(i));
    fill_(canvas, {right - 1 - i, bottom - thickness, 1, thickness}, at(area.width + area.height + i));
  }
  for (int i = thickness; i < area.height - thickness; ++i) {
    fill_(canvas, {right - thickness, area.y + i, thickness, 1}, at(area.width + i));
    fill_(canvas, {area.x, bottom - 1 - i, thickness, 1}, at(2 * area.width + area.height + i));
  }
}

void blit_(Canvas& canvas, Rect area, std::span<const Rgb> picture, int width, int height) {
  require(picture.size() == static_cast<std::size_t>(width) * static_cast<std::size_t>(height), ErrorCode::internal,
          "[canvas] a picture of {} x {} must have as many pixels, got {}", width, height, picture.size());
  for (int y = 0; y < area.height; ++y) {
    const int row = y * height / area.height;
    for (int x = 0; x < area.width; ++x) {
      const int column = x * width / area.width;
      canvas.blend_(area.x + x, area.y + y, picture[static_cast<std::size_t>(row * width + column)]);
    }
  }
}

void polyline_(Canvas& canvas, std::span<const Point> points, double thickness, Rgb colour) {
  if (points.empty()) {
    return;
  }
  // Each pixel is drawn once, by the nearest part of the line: overlapping parts must not darken it twice.
  double left = points.front().x;
  double right = left;
  double top = points.front().y;
  double bottom = top;
  for (const Point p : points) {
    left = std::min(left, p.x);
    right = std::max(right, p.x);
    top = std::min(top, p.y);
    bottom = std::max(bottom, p.y);
  }
  const double reach = thickness / 2 + 1;
  const int first_x = static_cast<int>(std::floor(left - reach));
  const int first_y = static_cast<int>(std::floor(top - reach));
  const int columns = static_cast<int>(std::ceil(right + reach)) - first_x + 1;
  const int rows = static_cast<int>(std::ceil(bottom + reach)) - first_y + 1;
  std::vector<double> coverage(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows), 0.0);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point a = points[i == 0 ? 0 : i - 1];
    const Point b = points[i];
    const int x_end = static_cast<int>(std::ceil(std::max(a.x, b.x) + reach)) - first_x;
    const int y_end = static_cast<int>(std::ceil(std::max(a.y, b.y) + reach)) - first_y;
    for (int y = static_cast<int>(std::floor(std::min(a.y, b.y) - reach)) - first_y; y <= y_end; ++y) {
      for (int x = static_cast<int>(std::floor(std::min(a.x, b.x) - reach)) - first_x; x <= x_end; ++x) {
        const double distance = distance_to_segment({first_x + x + 0.5, first_y + y + 0.5}, a, b);
        double& here = coverage[static_cast<std::size_t>(y * columns + x)];
        here = std::max(here, std::clamp(thickness / 2 + 0.5 - distance, 0.0, 1.0));
      }
    }
  }
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      canvas.blend_(first_x + x, first_y + y, colour, coverage[static_cast<std::size_t>(y * columns + x)]);
    }
  }
}

void bars_(Canvas& canvas, Rect area, std::span<const double> heights, Rgb colour) {
  const int count = static_cast<int>(heights.size());
  for (int i = 0; i < count; ++i) {
    const int left = area.width * i / count;
    const int pitch = area.width * (i + 1) / count - left;
    const int gap = pitch >= 6 ? 2 : (pitch >= 3 ? 1 : 0);
    const double wanted = std::clamp(heights[static_cast<std::size_t>(i)], 0.0, 1.0) * area.height;
    const int height = wanted > 0 ? std::max(1, static_cast<int>(std::lround(wanted))) : 0;
    fill_(canvas, {area.x + left, area.y + area.height - height, std::max(1, pitch - gap), height}, colour);
  }
}

}  // namespace feroma
