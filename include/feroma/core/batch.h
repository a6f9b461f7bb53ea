#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "feroma/core/aligned.h"

namespace feroma {

/// Shape of one sample: channels x height x width.
struct SampleShape {
  int channels = 1;
  int height = 1;
  int width = 1;

  [[nodiscard]] int size() const { return channels * height * width; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

/// Samples that lie side by side in the sample-innermost layout.
inline constexpr int kBatchLanes = 16;

/// How an engine wants a batch in memory.
struct BatchLayout {
  enum Kind {
    sample_major,      ///< [sample][channel][row][column]
    sample_innermost,  ///< groups of 16 samples, [group][channel][row][border, column, border][sample]
  };
  Kind kind = sample_major;
  int border = 0;  ///< sample_innermost: zero columns on either side of each row; unused samples are zero too

  constexpr BatchLayout(Kind layout = sample_major, int columns = 0) : kind(layout), border(columns) {}
  /// Values that a batch of so many samples takes.
  [[nodiscard]] constexpr std::size_t size(SampleShape shape, int samples) const {
    if (kind == sample_major) {
      return static_cast<std::size_t>(samples) * static_cast<std::size_t>(shape.size());
    }
    const int groups = (samples + kBatchLanes - 1) / kBatchLanes;
    const int pixels = shape.channels * shape.height * (shape.width + 2 * border);
    return static_cast<std::size_t>(groups) * static_cast<std::size_t>(pixels) * kBatchLanes;
  }
  friend bool operator==(const BatchLayout&, const BatchLayout&) = default;
};

/// Samples in the layout of the engine that will read them. Labels are empty for unlabelled data.
struct Batch {
  int size = 0;
  SampleShape shape;
  BatchLayout layout;
  AlignedVector inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;  ///< size x classes in [0, 1], for multi-label data; empty otherwise
  std::vector<float> weights;  ///< per-sample loss weights; empty means 1 each
};

}  // namespace feroma
