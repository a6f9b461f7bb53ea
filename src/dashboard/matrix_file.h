#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace feroma::dashboard {

/// A float32 matrix of a run (mixing/, profiles/) that is read some rows at a time, however large it is.
class MatrixFile {
 public:
  /// Reads the head; what is not such a file is an invalid_data error, a missing one an io error.
  explicit MatrixFile(std::filesystem::path path);

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  /// Rows `first` to `first + count`, row by row; an infinity in them is an invalid_data error.
  [[nodiscard]] std::vector<float> read(std::size_t first, std::size_t count) const;

 private:
  std::filesystem::path path_;
  std::size_t head_ = 0;
  std::size_t rows_ = 0;
  std::size_t cols_ = 0;
};

/// Mixing weights as they are drawn: at most so many cells a side. Where there are more, a cell is the mean over a
/// block's rows of the sum over its columns, so that rows still sum to 1.
struct Blocks {
  std::size_t block_rows = 1;
  std::size_t block_cols = 1;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::vector<double> values;
};
/// What is no weight is an invalid_data error.
[[nodiscard]] Blocks in_blocks(const MatrixFile& matrix, std::size_t cells);

}  // namespace feroma::dashboard
