#pragma once

#include <optional>
#include <string_view>

#include "feroma/core/npy.h"
#include "feroma/data/dataset.h"

namespace feroma::detail {

/// The arrays of one split; what is absent is null.
struct SampleArrays {
  const NpyArray* inputs = nullptr;
  const NpyArray* labels = nullptr;   ///< one class per sample, or samples x classes of 0 and 1
  const NpyArray* domains = nullptr;  ///< one id per sample
  const NpyArray* owners = nullptr;   ///< one id per sample
};

/// Whole numbers of a one-dimensional array of any type, each in 0..below-1; errors name array, rule and row.
[[nodiscard]] std::vector<std::int32_t> whole_numbers(const NpyArray& array, std::size_t count, std::int64_t below,
                                                      std::string_view what);
/// "1x28x28" as a shape; anything else is an error of this code that starts with `key`.
[[nodiscard]] SampleShape parse_shape(std::string_view text, std::string_view key);
/// Samples of the arrays. Bytes become pixels, other numbers values. `shape` must hold what a row holds; where it is
/// not given, [n,d] is 1x1xd, [n,h,w] is 1xhxw and [n,c,h,w] is itself.
[[nodiscard]] Samples to_samples(const SampleArrays& arrays, std::optional<SampleShape> shape, int classes);

}  // namespace feroma::detail
