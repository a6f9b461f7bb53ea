#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace feroma {

/// The product of a (rows x inner) and b (inner x columns), both row-major.
[[nodiscard]] std::vector<float> multiply(std::span<const float> a, std::span<const float> b, std::size_t inner);

/// Rows become columns.
[[nodiscard]] std::vector<float> transpose(std::span<const float> a, std::size_t columns);

/// The dot product of every row with itself.
[[nodiscard]] std::vector<double> squared_norms(std::span<const float> rows, std::size_t columns);

}  // namespace feroma
