#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/batch.h"

namespace feroma {

/// What every value of a channel, or of a table's column, becomes: x * factor + offset.
struct InputScale {
  float factor = 1.0F;
  float offset = 0.0F;
  friend bool operator==(const InputScale&, const InputScale&) = default;
};

/// A model's inputs are scaled by these, whoever feeds it: they are part of the model. None leave values as they are.
using InputScales = std::vector<InputScale>;

/// Whether samples are rows of a table, whose columns mean different things; the channels of a picture or a signal mean
/// one thing each.
[[nodiscard]] constexpr bool is_table(SampleShape shape) { return shape.channels == 1 && shape.height == 1; }

/// How many scales samples of a shape need: one per column of a table, else one per channel.
[[nodiscard]] constexpr std::size_t scale_count(SampleShape shape) {
  return static_cast<std::size_t>(is_table(shape) ? shape.width : shape.channels);
}

/// The same as numbers: factor, offset, factor, ... as they are kept and sent.
[[nodiscard]] std::vector<float> numbers_of(const InputScales& scales);
/// Reads them back. None at all, or what cannot be a scale for samples of this shape, is an invalid_data error that
/// names `what` should have them.
[[nodiscard]] InputScales scales_from(std::span<const float> numbers, SampleShape shape, const std::string& what);

}  // namespace feroma
