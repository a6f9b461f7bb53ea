#include "preview/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "preview/palette.h"

namespace feroma::detail {
namespace {

/// Pictures are enlarged by whole factors up to this side, or shrunk to it.
constexpr int kPictureSide = 64;
constexpr PixelSize kPlot{100, 52};

using Values = std::span<const float>;

double relative(float value, ValueRange range) {
  const double position = (static_cast<double>(value) - range.low) / (range.high - range.low);
  return std::isfinite(position) ? std::clamp(position, 0.0, 1.0) : 0.0;
}

void draw_picture(Canvas& canvas, Rect area, Values values, SampleShape shape, ValueRange range) {
  const auto plane = static_cast<std::size_t>(shape.height * shape.width);
  const auto channel = [&](std::size_t c, std::size_t pixel) {
    return static_cast<std::uint8_t>(std::lround(255 * relative(values[c * plane + pixel], range)));
  };
  const bool coloured = shape.channels >= 3;
  std::vector<Rgb> picture(plane);
  for (std::size_t i = 0; i < plane; ++i) {
    picture[i] = {channel(0, i), channel(coloured ? 1 : 0, i), channel(coloured ? 2 : 0, i)};
  }
  blit_(canvas, area, picture, shape.width, shape.height);
}

void draw_signal(Canvas& canvas, Rect area, Values values, SampleShape shape, ValueRange range) {
  fill_(canvas, area, kPanel);
  const auto length = static_cast<std::size_t>(shape.height * shape.width);
  const double step = (area.width - 2.0) / static_cast<double>(std::max<std::size_t>(length, 2) - 1);
  for (std::size_t c = 0; c < static_cast<std::size_t>(shape.channels); ++c) {
    std::vector<Point> line;
    for (std::size_t t = 0; t < length; ++t) {
      line.push_back({area.x + 1 + step * static_cast<double>(t),
                      area.y + area.height - 1.5 - (area.height - 3.0) * relative(values[c * length + t], range)});
    }
    polyline_(canvas, line, 1, kColours[c % kColours.size()]);
  }
}

void draw_table(Canvas& canvas, Rect area, Values values, ValueRange range) {
  fill_(canvas, area, kPanel);
  std::vector<double> heights;
  for (const float value : values) {
    heights.push_back(relative(value, range));
  }
  bars_(canvas, area, heights, kColours.front());
}

}  // namespace

PixelSize thumbnail_size(SampleKind kind, SampleShape shape) {
  if (kind != SampleKind::picture) {
    return kPlot;
  }
  const int side = std::max(shape.height, shape.width);
  if (side <= kPictureSide) {
    return {shape.width * (kPictureSide / side), shape.height * (kPictureSide / side)};
  }
  return {std::max(1, shape.width * kPictureSide / side), std::max(1, shape.height * kPictureSide / side)};
}

ValueRange value_range(const Preview& preview) {
  ValueRange range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  const auto add = [&range](const PreviewCell& cell) {
    for (const float value : cell.samples.inputs) {
      if (std::isfinite(value)) {
        range.low = std::min(range.low, static_cast<double>(value));
        range.high = std::max(range.high, static_cast<double>(value));
      }
    }
  };
  for (const PreviewRow& row : preview.rows) {
    std::for_each(row.stages.begin(), row.stages.end(), add);
    if (row.test) {
      add(*row.test);
    }
  }
  // Stored bytes become 0..1 whatever the shown ones are; only other numbers need a scale of their own.
  const bool unit = preview.kind == SampleKind::picture && range.low >= 0 && range.high <= 1;
  return unit || !(range.low < range.high) ? ValueRange{} : range;
}

void thumbnail_(Canvas& canvas, Rect area, const Batch& samples, std::size_t index, SampleKind kind, ValueRange range) {
  const auto size = static_cast<std::size_t>(samples.shape.size());
  const Values values = Values(samples.inputs).subspan(index * size, size);
  switch (kind) {
    case SampleKind::picture: draw_picture(canvas, area, values, samples.shape, range); return;
    case SampleKind::signal: draw_signal(canvas, area, values, samples.shape, range); return;
    case SampleKind::table: draw_table(canvas, area, values, range); return;
  }
}

}  // namespace feroma::detail
