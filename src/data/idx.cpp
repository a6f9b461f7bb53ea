#include "feroma/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "data/byte_source.h"
#include "feroma/core/error.h"
#include "feroma/core/files.h"

namespace feroma {
namespace {

constexpr std::uint8_t kUnsignedByteType = 0x08;
constexpr std::size_t kMaxDims = 4;

/// Reads exactly out.size() bytes or says where the file ended.
void read_exactly(detail::ByteSource& source, std::span<std::uint8_t> out, const std::string& name) {
  const std::size_t wanted = source.offset() + out.size();
  const std::size_t got = source.read(out);
  require(got == out.size(), ErrorCode::invalid_data,
          "[idx] {}: {} bytes must follow from the header, got a file truncated at offset {}", name, wanted,
          source.offset());
}

std::uint32_t big_endian(std::span<const std::uint8_t> bytes) {
  return (std::uint32_t{bytes[0]} << 24) | (std::uint32_t{bytes[1]} << 16) | (std::uint32_t{bytes[2]} << 8) |
         std::uint32_t{bytes[3]};
}

std::size_t read_dim_count(detail::ByteSource& source, std::vector<std::uint8_t>& content, const std::string& name) {
  content.resize(4);
  read_exactly(source, content, name);
  require(content[0] == 0 && content[1] == 0 && content[2] == kUnsignedByteType, ErrorCode::invalid_data,
          "[idx] {}: the magic number at offset 0 must be 00 00 08 (unsigned bytes), got {:02x} {:02x} {:02x}", name,
          content[0], content[1], content[2]);
  const std::size_t dims = content[3];
  require(dims >= 1 && dims <= kMaxDims, ErrorCode::invalid_data,
          "[idx] {}: the number of dimensions at offset 3 must be in 1..{}, got {}", name, kMaxDims, dims);
  return dims;
}

/// Multiplies the dimensions; the limit is tested before each product, so nothing can overflow.
std::size_t read_dims(detail::ByteSource& source, IdxFile& file, std::size_t count, const std::string& name) {
  file.content.resize(4 + 4 * count);
  read_exactly(source, std::span(file.content).subspan(4), name);
  std::size_t values = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t offset = 4 + 4 * i;
    const std::uint32_t dim = big_endian(std::span(file.content).subspan(offset, 4));
    require(dim >= 1, ErrorCode::invalid_data, "[idx] {}: the dimension at offset {} must be >= 1, got 0", name,
            offset);
    require(dim <= kMaxIdxValues / values, ErrorCode::invalid_data,
            "[idx] {}: the dimensions must declare at most {} values, got {} x {} at offset {}", name, kMaxIdxValues,
            values, dim, offset);
    values *= dim;
    file.dims.push_back(dim);
  }
  return values;
}

}  // namespace

IdxFile parse_idx(std::span<const std::byte> bytes, const std::string& name,
                  std::span<const std::uint32_t> expected_dims) {
  detail::ByteSource source(bytes, name);
  IdxFile file;
  const std::size_t dims = read_dim_count(source, file.content, name);
  const std::size_t values = read_dims(source, file, dims, name);
  require(expected_dims.empty() || std::ranges::equal(file.dims, expected_dims), ErrorCode::invalid_data,
          "[idx] {}: the dimensions at offset 4 must be {}, got {}", name, fmt::join(expected_dims, " x "),
          fmt::join(file.dims, " x "));
  require(values <= source.most_left(), ErrorCode::invalid_data,
          "[idx] {}: the header declares {} values, got at most {} bytes from offset {}", name, values,
          source.most_left(), source.offset());
  file.content.resize(file.header_size() + values);
  read_exactly(source, std::span(file.content).subspan(file.header_size()), name);
  source.expect_end();
  return file;
}

Samples read_idx_samples(const std::filesystem::path& images, const std::filesystem::path& labels, SampleShape shape,
                         int classes) {
  const IdxFile label_file = parse_idx(read_file(labels), labels.string());
  require(label_file.dims.size() == 1, ErrorCode::invalid_data, "[idx] {}: labels must have 1 dimension, got {}",
          labels.string(), label_file.dims.size());
  Samples samples;
  samples.shape = shape;
  samples.labels.reserve(label_file.values().size());
  for (const std::uint8_t label : label_file.values()) {
    require(label < classes, ErrorCode::invalid_data, "[idx] {}: labels must be below {}, got {} at offset {}",
            labels.string(), classes, label, label_file.header_size() + samples.labels.size());
    samples.labels.push_back(label);
  }
  // One picture per label, so a header that lies about the count is refused before its pictures are inflated.
  const std::array<std::uint32_t, 3> dims{static_cast<std::uint32_t>(samples.count()),
                                          static_cast<std::uint32_t>(shape.height),
                                          static_cast<std::uint32_t>(shape.width)};
  IdxFile image_file = parse_idx(read_file(images), images.string(), dims);
  const auto header = static_cast<std::ptrdiff_t>(image_file.header_size());
  samples.pixels = std::move(image_file.content);
  samples.pixels.erase(samples.pixels.begin(), samples.pixels.begin() + header);
  return samples;
}

}  // namespace feroma
