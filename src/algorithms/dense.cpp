#include "algorithms/dense.h"

#include <algorithm>
#include <array>

#include "aggregation/mix_kernel.h"

namespace feroma {

/// The kernel that mixes models is a small matrix product: rows of `a` are its weights, rows of `b` its sources.
std::vector<float> multiply(std::span<const float> a, std::span<const float> b, std::size_t inner) {
  using detail::kTileRows;
  using detail::kTileValues;
  const std::size_t rows = a.size() / inner;
  const std::size_t columns = b.size() / inner;
  std::vector<float> out(rows * columns);
  std::vector<detail::TileSource> sources(inner);
  std::vector<const float*> values(inner);
  std::array<float, kTileRows * kTileValues> sums{};
  std::size_t height = 0;
  for (std::size_t row = 0; row < rows; row += height) {
    height = rows - row >= kTileRows ? kTileRows : 1;
    for (std::size_t k = 0; k < inner; ++k) {
      sources[k].source = k;
      for (std::size_t r = 0; r < height; ++r) {
        sources[k].weights[r] = a[(row + r) * inner + k];
      }
    }
    for (std::size_t column = 0; column < columns; column += kTileValues) {
      const std::size_t length = std::min(kTileValues, columns - column);
      for (std::size_t k = 0; k < inner; ++k) {
        values[k] = b.data() + k * columns + column;
      }
      sums.fill(0.0F);
      detail::mix_pass({sources, values, sums.data(), height, length});
      for (std::size_t r = 0; r < height; ++r) {
        const float* const from = sums.data() + r * kTileValues;
        std::copy(from, from + length, out.begin() + static_cast<std::ptrdiff_t>((row + r) * columns + column));
      }
    }
  }
  return out;
}

std::vector<float> transpose(std::span<const float> a, std::size_t columns) {
  const std::size_t rows = a.size() / columns;
  std::vector<float> out(a.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      out[j * rows + i] = a[i * columns + j];
    }
  }
  return out;
}

std::vector<double> squared_norms(std::span<const float> rows, std::size_t columns) {
  std::vector<double> norms(rows.size() / columns);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    for (const float value : rows.subspan(i * columns, columns)) {
      norms[i] += static_cast<double>(value) * static_cast<double>(value);
    }
  }
  return norms;
}

}  // namespace feroma
