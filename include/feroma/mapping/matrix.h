#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace feroma {

/// A small dense row-major matrix of doubles: distances and mixing weights between clients.
struct Matrix {
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<double> values;

  Matrix() = default;
  Matrix(std::size_t row_count, std::size_t col_count, double fill = 0)
      : rows(row_count), cols(col_count), values(row_count * col_count, fill) {}

  [[nodiscard]] double& at(std::size_t r, std::size_t c) { return values[r * cols + c]; }
  [[nodiscard]] double at(std::size_t r, std::size_t c) const { return values[r * cols + c]; }
  [[nodiscard]] std::span<double> row(std::size_t r) { return std::span(values).subspan(r * cols, cols); }
  [[nodiscard]] std::span<const double> row(std::size_t r) const { return std::span(values).subspan(r * cols, cols); }
  [[nodiscard]] bool empty() const { return values.empty(); }
  friend bool operator==(const Matrix&, const Matrix&) = default;
};

}  // namespace feroma
