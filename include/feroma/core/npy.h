#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "feroma/core/archive.h"
#include "feroma/core/error.h"

namespace feroma {

/// The element types that are read: u1, i4, i8, f4 and f8.
using NpyValues = std::variant<std::vector<std::uint8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
                               std::vector<float>, std::vector<double>>;

/// A NumPy array in C order; `name` is where it came from, for errors.
struct NpyArray {
  std::string name;
  std::vector<std::int64_t> shape;
  NpyValues values;

  /// The values if they have exactly this type, else an invalid_data error.
  template <class T>
  [[nodiscard]] const std::vector<T>& as() const {
    const auto* held = std::get_if<std::vector<T>>(&values);
    require(held != nullptr, ErrorCode::invalid_data, "{}: has another element type ({}) than asked for", name,
            type_name());
    return *held;
  }
  /// The values as doubles, whatever their type.
  [[nodiscard]] std::vector<double> to_doubles() const;
  /// "u1", "i4", "i8", "f4" or "f8".
  [[nodiscard]] std::string type_name() const;
};

/// The orders of values that are read; whatever the order in the file, an array has them in C order.
enum class NpyOrder { c, any };

/// Reads a .npy file of up to four dimensions; whatever is not plain little-endian C-order data is refused.
[[nodiscard]] NpyArray read_npy(const std::filesystem::path& path);
[[nodiscard]] NpyArray parse_npy(std::span<const std::byte> bytes, std::string name, NpyOrder order = NpyOrder::c);

/// The content of a .npy file (version 1.0, C order); the product of `shape` is the number of values.
[[nodiscard]] Bytes npy_bytes(std::span<const float> values, std::span<const std::int64_t> shape);
[[nodiscard]] Bytes npy_bytes(std::span<const double> values, std::span<const std::int64_t> shape);

}  // namespace feroma
