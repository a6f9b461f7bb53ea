#pragma once

#include <cstdint>
#include <vector>

namespace feroma {

/// Shape of one sample: channels x height x width.
struct SampleShape {
  int channels = 1;
  int height = 1;
  int width = 1;

  [[nodiscard]] int size() const { return channels * height * width; }
  friend bool operator==(const SampleShape&, const SampleShape&) = default;
};

/// How an engine wants a batch in memory.
enum class BatchLayout {
  sample_major,      ///< [sample][channel][row][column]
  sample_innermost,  ///< blocks of 64 samples, [block][channel][row][column][lane]; unused lanes are zero
};

/// Samples in the layout of the engine that will read them. Labels are empty for unlabelled data.
struct Batch {
  int size = 0;
  SampleShape shape;
  BatchLayout layout = BatchLayout::sample_major;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;  ///< size x classes in [0, 1], for multi-label data; empty otherwise
  std::vector<float> weights;  ///< per-sample loss weights; empty means 1 each
};

}  // namespace feroma
