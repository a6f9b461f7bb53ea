#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace feroma {

/// A loss of several rows and its gradient, of the same shape.
struct RowLoss {
  double value = 0;
  std::vector<float> gradient;
};

/**
 * The supervised contrastive loss (Khosla et al., 2020) of rows of `width` values: each row, at length 1, shall be
 * nearer to those with its label than to all others. The mean over the rows that are not alone with their label.
 */
[[nodiscard]] RowLoss supervised_contrast(std::span<const float> rows, std::size_t width,
                                          std::span<const std::int32_t> labels, double temperature);

}  // namespace feroma
