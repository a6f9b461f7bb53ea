#include "dashboard/matrix_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "dashboard/tailed_file.h"
#include "feroma/core/error.h"
#include "feroma/report/mixing.h"

namespace feroma::dashboard {
namespace {

/// Magic, version 1.0 and the length of what follows.
constexpr std::string_view kMagic("\x93NUMPY\x01\x00", 8);
constexpr std::size_t kPreamble = 10;
/// Floats that are read at once.
constexpr std::size_t kAtOnce = std::size_t{1} << 18;
/// Sides beyond this were not written by us, and their product could overflow.
constexpr std::uint64_t kLargestSide = 100'000'000;

/// The next number at or after `at`, which moves behind it; a bad one is an invalid_data error.
std::uint64_t next_number(const std::string& head, std::size_t& at, const std::string& name) {
  at = std::min(head.find_first_of("0123456789", at), head.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(head.data() + at, head.data() + head.size(), number);
  require(error == std::errc() && number > 0 && number <= kLargestSide, ErrorCode::invalid_data,
          "{}: must have two dimensions of 1..{}", name, kLargestSide);
  at = static_cast<std::size_t>(end - head.data());
  return number;
}

}  // namespace

MatrixFile::MatrixFile(std::filesystem::path path) : path_(std::move(path)) {
  const std::string name = path_.string();
  const std::string start = read_piece(path_, 0, kPreamble);
  require(start.size() == kPreamble && start.starts_with(kMagic), ErrorCode::invalid_data,
          "{}: is not a version 1.0 .npy file", name);
  const auto byte = [&start](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(start[i])); };
  const std::size_t length = byte(8) | (byte(9) << 8U);
  const std::string head = read_piece(path_, kPreamble, length);
  require(head.size() == length && head.find("'<f4'") != std::string::npos &&
              head.find("'fortran_order': False") != std::string::npos,
          ErrorCode::invalid_data, "{}: must hold float32 values in C order", name);
  std::size_t at = head.find("'shape': (");
  require(at != std::string::npos, ErrorCode::invalid_data, "{}: has no shape", name);
  rows_ = next_number(head, at, name);
  cols_ = next_number(head, at, name);
  head_ = kPreamble + length;
  std::error_code unknown;
  const std::uintmax_t size = std::filesystem::file_size(path_, unknown);
  require(!unknown && size == head_ + rows_ * cols_ * sizeof(float), ErrorCode::invalid_data,
          "{}: must have {} x {} values after its head, has {} bytes in all", name, rows_, cols_, size);
}

std::vector<float> MatrixFile::read(std::size_t first, std::size_t count) const {
  require(first + count <= rows_, ErrorCode::internal, "{}: has {} rows, asked for {} from {}", path_.string(), rows_,
          count, first);
  std::vector<float> values(count * cols_);
  const std::string bytes = read_piece(path_, head_ + first * cols_ * sizeof(float), values.size() * sizeof(float));
  require(bytes.size() == values.size() * sizeof(float), ErrorCode::invalid_data, "{}: ended early", path_.string());
  std::memcpy(values.data(), bytes.data(), bytes.size());
  require(std::none_of(values.begin(), values.end(), [](float value) { return std::isinf(value); }),
          ErrorCode::invalid_data, "{}: must hold no infinity", path_.string());
  return values;
}

Blocks in_blocks(const MatrixFile& matrix, std::size_t cells) {
  Blocks blocks;
  blocks.block_rows = (matrix.rows() + cells - 1) / cells;
  blocks.block_cols = (matrix.cols() + cells - 1) / cells;
  blocks.rows = (matrix.rows() + blocks.block_rows - 1) / blocks.block_rows;
  blocks.cols = (matrix.cols() + blocks.block_cols - 1) / blocks.block_cols;
  blocks.values.resize(blocks.rows * blocks.cols);
  const std::size_t at_once = std::max<std::size_t>(1, kAtOnce / matrix.cols());
  for (std::size_t first = 0; first < matrix.rows(); first += at_once) {
    const std::size_t count = std::min(at_once, matrix.rows() - first);
    const std::vector<float> rows = matrix.read(first, count);
    for (std::size_t r = 0; r < count; ++r) {
      const std::size_t block = (first + r) / blocks.block_rows;
      const std::size_t height = std::min(blocks.block_rows, matrix.rows() - block * blocks.block_rows);
      for (std::size_t c = 0; c < matrix.cols(); ++c) {
        const double weight = rows[r * matrix.cols() + c];
        if (!is_mixing_weight(weight)) {  // no text is made for the millions that are
          fail(ErrorCode::invalid_data, "{}: must hold weights in 0..1, got {}", matrix.path().string(), weight);
        }
        blocks.values[block * blocks.cols + c / blocks.block_cols] += weight / static_cast<double>(height);
      }
    }
  }
  return blocks;
}

}  // namespace feroma::dashboard
