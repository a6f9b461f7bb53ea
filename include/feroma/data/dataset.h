#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "feroma/core/batch.h"

namespace feroma {

/// The samples of one split, held once in their own type; clients only ever hold views over it.
struct Samples {
  SampleShape shape;
  std::vector<std::uint8_t> pixels;  ///< count x shape.size(), value = byte / 255
  std::vector<std::int32_t> labels;

  [[nodiscard]] std::size_t count() const { return labels.size(); }
};

/// A dataset with its official split.
struct Dataset {
  std::string name;
  int classes = 0;
  Samples train;
  Samples test;
};

}  // namespace feroma
