#pragma once

#include <vector>

#include "feroma/data/dataset.h"

namespace feroma {

/// What every value of a channel becomes: x * factor + offset.
struct InputScale {
  float factor = 1.0F;
  float offset = 0.0F;
  friend bool operator==(const InputScale&, const InputScale&) = default;
};

/// Scales that give each stored channel mean 0 and standard deviation 1 over all samples; a channel without spread is
/// only moved. One of them where a gray picture is seen in several channels: they share it.
[[nodiscard]] std::vector<InputScale> standard_scales(const Samples& samples);

}  // namespace feroma
