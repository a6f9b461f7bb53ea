#include "feroma/core/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "feroma/core/files.h"

namespace feroma {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are read and written in place");

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPrefix = 8;  // magic and two version bytes
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxDims = 4;
constexpr std::array<std::string_view, 5> kTypeNames{"u1", "i4", "i8", "f4", "f8"};

/// Reads the header's Python dictionary literal: exactly the three keys that NumPy writes, in any order.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  void parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && descr_.empty()) {
        descr_ = quoted();
      } else if (key == "fortran_order" && order_.empty()) {
        order_ = word();
      } else if (key == "shape" && !has_shape_) {
        read_shape();
      } else {
        refuse();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (position_ != text_.size() || descr_.empty() || order_.empty() || !has_shape_) {
      refuse();
    }
  }

  [[nodiscard]] std::string_view descr() const { return descr_; }
  [[nodiscard]] bool fortran_order() const { return order_ != "False"; }
  [[nodiscard]] const std::vector<std::int64_t>& shape() const { return shape_; }

 private:
  [[noreturn]] void refuse() const {
    fail(ErrorCode::invalid_data, "{}: the array header is not what NumPy writes (at byte {} of it)", name_, position_);
  }
  void skip_space() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\n')) {
      ++position_;
    }
  }
  bool accept(char c) {
    skip_space();
    if (position_ < text_.size() && text_[position_] == c) {
      ++position_;
      return true;
    }
    return false;
  }
  void expect(char c) {
    if (!accept(c)) {
      refuse();
    }
  }
  std::string_view quoted() {
    expect('\'');
    const std::size_t end = text_.find('\'', position_);
    if (end == std::string_view::npos || end == position_) {
      refuse();
    }
    const std::string_view inside = text_.substr(position_, end - position_);
    position_ = end + 1;
    return inside;
  }
  std::string_view word() {
    skip_space();
    const std::size_t end = std::min(text_.find_first_of(",} ", position_), text_.size());
    const std::string_view found = text_.substr(position_, end - position_);
    if (found != "True" && found != "False") {
      refuse();
    }
    position_ = end;
    return found;
  }
  void read_shape() {
    has_shape_ = true;
    expect('(');
    while (!accept(')')) {
      skip_space();
      std::int64_t size = 0;
      const char* begin = text_.data() + position_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) {
        fail(ErrorCode::invalid_data, "{}: dimension {} of the shape must be a number from 0 to 2^63-1", name_,
             shape_.size());
      }
      position_ += static_cast<std::size_t>(end - begin);
      shape_.push_back(size);
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t position_ = 0;
  std::string_view descr_;
  std::string_view order_;
  bool has_shape_ = false;
  std::vector<std::int64_t> shape_;
};

template <class T>
std::vector<T> read_values(std::span<const std::byte> data, std::span<const std::int64_t> shape,
                           const std::string& name) {
  // Dividing what is there, instead of multiplying what is claimed, cannot overflow.
  const bool any_zero = std::find(shape.begin(), shape.end(), 0) != shape.end();
  std::size_t count = any_zero ? 0 : 1;
  if (!any_zero) {
    for (const std::int64_t size : shape) {
      require(static_cast<std::uint64_t>(size) <= data.size() / sizeof(T) / count, ErrorCode::invalid_data,
              "{}: the shape asks for more than the {} bytes of data in the file", name, data.size());
      count *= static_cast<std::size_t>(size);
    }
  }
  require(count * sizeof(T) == data.size(), ErrorCode::invalid_data,
          "{}: the shape asks for {} bytes of data, the file has {}", name, count * sizeof(T), data.size());
  std::vector<T> values(count);
  if (count > 0) {
    std::memcpy(values.data(), data.data(), data.size());
  }
  return values;
}

NpyValues read_typed(std::string_view descr, std::span<const std::byte> data, std::span<const std::int64_t> shape,
                     const std::string& name) {
  if (descr == "|u1") {
    return read_values<std::uint8_t>(data, shape, name);
  }
  if (descr == "<i4") {
    return read_values<std::int32_t>(data, shape, name);
  }
  if (descr == "<i8") {
    return read_values<std::int64_t>(data, shape, name);
  }
  if (descr == "<f4") {
    return read_values<float>(data, shape, name);
  }
  if (descr == "<f8") {
    return read_values<double>(data, shape, name);
  }
  fail(ErrorCode::invalid_data, "{}: element type must be |u1, <i4, <i8, <f4 or <f8, got {}", name, descr);
}

/// Values that lie with the first index fastest, in C order.
template <class T>
std::vector<T> in_c_order(const std::vector<T>& values, std::span<const std::int64_t> shape) {
  std::vector<T> ordered;
  ordered.reserve(values.size());
  std::vector<std::int64_t> index(shape.size());
  while (ordered.size() < values.size()) {
    std::int64_t place = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place = place * shape[d] + index[d];
    }
    ordered.push_back(values[static_cast<std::size_t>(place)]);
    for (std::size_t d = shape.size(); d-- > 0 && ++index[d] == shape[d];) {
      index[d] = 0;
    }
  }
  return ordered;
}

std::string header_text(std::string_view type, std::span<const std::int64_t> shape) {
  std::string dims;
  for (const std::int64_t size : shape) {
    dims += fmt::format("{}, ", size);
  }
  if (shape.size() > 1) {
    dims.resize(dims.size() - 2);
  } else if (shape.size() == 1) {
    dims.pop_back();
  }
  std::string text = fmt::format("{{'descr': '<{}', 'fortran_order': False, 'shape': ({}), }}", type, dims);
  const std::size_t unpadded = kPrefix + sizeof(std::uint16_t) + text.size() + 1;
  text.append((kAlignment - unpadded % kAlignment) % kAlignment, ' ');
  return text + '\n';
}

template <class T>
Bytes encode(std::string_view type, std::span<const T> values, std::span<const std::int64_t> shape) {
  require(shape.size() <= kMaxDims, ErrorCode::internal, "[npy] at most {} dimensions, got {}", kMaxDims, shape.size());
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    count *= static_cast<std::size_t>(size);
  }
  require(count == values.size(), ErrorCode::internal, "[npy] the shape holds {} values, got {}", count, values.size());
  const std::string header = header_text(type, shape);
  const auto length = static_cast<std::uint16_t>(header.size());
  std::string text(kMagic);
  text += {'\x01', '\x00', static_cast<char>(length & 0xff), static_cast<char>(length >> 8)};
  text += header;
  Bytes bytes(text.size() + values.size_bytes());
  std::memcpy(bytes.data(), text.data(), text.size());
  if (!values.empty()) {
    std::memcpy(bytes.data() + text.size(), values.data(), values.size_bytes());
  }
  return bytes;
}

}  // namespace

std::vector<double> NpyArray::to_doubles() const {
  return std::visit(
      [](const auto& held) {
        std::vector<double> out;
        out.reserve(held.size());
        for (const auto value : held) {
          out.push_back(static_cast<double>(value));
        }
        return out;
      },
      values);
}

std::string NpyArray::type_name() const { return std::string(kTypeNames[values.index()]); }

NpyArray read_npy(const std::filesystem::path& path) { return parse_npy(read_file(path), path.string()); }

NpyArray parse_npy(std::span<const std::byte> bytes, std::string name, NpyOrder order) {
  const auto byte_at = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[i]); };
  require(bytes.size() >= kPrefix + 2 && std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) == 0,
          ErrorCode::invalid_data, "{}: is not a .npy file", name);
  const unsigned major = byte_at(6);
  require((major == 1 || major == 2) && byte_at(7) == 0, ErrorCode::invalid_data,
          "{}: .npy version must be 1.0 or 2.0, got {}.{}", name, major, byte_at(7));
  const std::size_t start = kPrefix + (major == 1 ? 2 : 4);
  require(bytes.size() >= start, ErrorCode::invalid_data, "{}: ends inside the array header", name);
  std::size_t length = 0;
  for (std::size_t i = start; i-- > kPrefix;) {
    length = length << 8 | byte_at(i);
  }
  require(length <= bytes.size() - start, ErrorCode::invalid_data,
          "{}: the array header claims {} bytes, the file has {} left", name, length, bytes.size() - start);

  std::string header(length, '\0');
  std::memcpy(header.data(), bytes.data() + start, length);
  HeaderParser parser(header, name);
  parser.parse();
  require(!parser.fortran_order() || order == NpyOrder::any, ErrorCode::invalid_data,
          "{}: Fortran order is not supported; save it in C order", name);
  require(parser.shape().size() <= kMaxDims, ErrorCode::invalid_data, "{}: at most {} dimensions, got {}", name,
          kMaxDims, parser.shape().size());
  NpyArray array;
  array.values = read_typed(parser.descr(), bytes.subspan(start + length), parser.shape(), name);
  array.shape = parser.shape();
  if (parser.fortran_order()) {
    std::visit([&](auto& values) { values = in_c_order(values, array.shape); }, array.values);
  }
  array.name = std::move(name);
  return array;
}

Bytes npy_bytes(std::span<const float> values, std::span<const std::int64_t> shape) {
  return encode("f4", values, shape);
}

Bytes npy_bytes(std::span<const double> values, std::span<const std::int64_t> shape) {
  return encode("f8", values, shape);
}

}  // namespace feroma
