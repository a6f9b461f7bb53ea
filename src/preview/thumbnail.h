#pragma once

#include "feroma/preview/canvas.h"
#include "feroma/preview/preview.h"

namespace feroma::detail {

struct PixelSize {
  int width = 0;
  int height = 0;
};

/// Smallest and largest value of the samples of a preview: signals and tables are drawn on one scale.
struct ValueRange {
  double low = 0;
  double high = 1;
};

[[nodiscard]] PixelSize thumbnail_size(SampleKind kind, SampleShape shape);
[[nodiscard]] ValueRange value_range(const Preview& preview);
/// Sample `index` of the batch: a picture, a line per channel, or a bar per value.
void thumbnail_(Canvas& canvas, Rect area, const Batch& samples, std::size_t index, SampleKind kind, ValueRange range);

}  // namespace feroma::detail
