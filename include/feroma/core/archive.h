#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace feroma {

using Bytes = std::vector<std::byte>;

template <class T>
concept PlainNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

/// Appends values to a byte buffer, little-endian, lengths first.
class ArchiveWriter {
 public:
  template <PlainNumber T>
  void put(T value) {
    raw(std::as_bytes(std::span(&value, 1)));
  }
  template <PlainNumber T>
  void put(std::span<const T> values) {
    put<std::uint64_t>(values.size());
    raw(std::as_bytes(values));
  }
  template <PlainNumber T>
  void put(const std::vector<T>& values) {
    put(std::span<const T>(values));
  }
  void put(std::string_view text) { put(std::span<const char>(text.data(), text.size())); }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }
  [[nodiscard]] Bytes take() { return std::move(bytes_); }

 private:
  void raw(std::span<const std::byte> data) {
    if (!data.empty()) {
      const std::size_t begin = bytes_.size();
      bytes_.resize(begin + data.size());
      std::memcpy(bytes_.data() + begin, data.data(), data.size());
    }
  }

  Bytes bytes_;
};

/// Reads what ArchiveWriter wrote. Every length is checked against what is left before anything is allocated.
class ArchiveReader {
 public:
  /// `what` names the source in errors. The reader borrows `bytes`.
  ArchiveReader(std::span<const std::byte> bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  template <PlainNumber T>
  [[nodiscard]] T get() {
    if constexpr (std::is_same_v<T, bool>) {
      return checked_bool();
    } else {
      T value{};
      raw(std::as_writable_bytes(std::span(&value, 1)));
      return value;
    }
  }
  template <PlainNumber T>
  [[nodiscard]] std::vector<T> get_vector() {
    const std::size_t count = checked_count(sizeof(T));
    std::vector<T> values(count);
    raw(std::as_writable_bytes(std::span(values)));
    return values;
  }
  [[nodiscard]] std::string get_string() {
    const std::vector<char> text = get_vector<char>();
    return {text.begin(), text.end()};
  }
  [[nodiscard]] bool at_end() const { return position_ == bytes_.size(); }
  /// Throws invalid_data unless everything was read.
  void expect_end() const;
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  void raw(std::span<std::byte> out);
  [[nodiscard]] bool checked_bool();
  [[nodiscard]] std::size_t checked_count(std::size_t element_size);

  std::span<const std::byte> bytes_;
  std::string what_;
  std::size_t position_ = 0;
};

}  // namespace feroma
