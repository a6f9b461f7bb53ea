#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace feroma {

/// Sums are integers: so many to one.
inline constexpr double kFixedPoint = 65536;

/// How a record's coordinates are bounded: each within [-1, 1], or all of them within the unit ball.
enum class Clip { box, ball };
/// Which data sets must look alike: with and without one record, or with one record exchanged.
enum class Neighbours { add_remove, replace_one };

/**
 * What is summed over a client's records before noise is added: per class the count, the coordinates and their squares,
 * weighed by `count`, `sum` and `square`. In integers with 16 fractional bits, so that what one record can change is
 * known exactly.
 *
 * A record enters the block of its class. In multi-label data the `labels` lowest of its labels count, and a block of
 * its own, the last, takes every record once.
 */
struct SumShape {
  int coordinates = 10;
  int classes = 10;
  int labels = 1;  ///< per record, at most
  bool multi_label = false;
  Clip clip = Clip::ball;
  double count = 0.4;
  double sum = 1;
  double square = 0.6;

  [[nodiscard]] bool has_marginal_block() const { return multi_label; }
  [[nodiscard]] std::size_t block_size() const { return 2 * static_cast<std::size_t>(coordinates) + 1; }
  [[nodiscard]] std::size_t blocks() const {
    return static_cast<std::size_t>(classes) + (has_marginal_block() ? 1 : 0);
  }
  [[nodiscard]] std::size_t size() const { return blocks() * block_size(); }
  /// What is taken from every square, so that one record changes less; given back when squares are read.
  [[nodiscard]] double offset() const;
};

/// The shape's default weights with coordinates in a box.
[[nodiscard]] SumShape box_shape(int coordinates, int classes);

/// The most that one record's block can be, in the norm of the shape's clipping: absolute values for a box, squares for
/// a ball (there, the square of the norm).
[[nodiscard]] std::int64_t block_bound(const SumShape& shape);
/// The most that sums of neighbours differ by: in absolute values (box), or the square of the distance (ball).
[[nodiscard]] std::int64_t sensitivity(const SumShape& shape, Neighbours neighbours);

/// A record's block: coordinates are clipped first, and count as 0 where one of them is not finite.
[[nodiscard]] std::vector<std::int64_t> block_of(const SumShape& shape, std::span<const float> coordinates);
[[nodiscard]] bool within_bound(const SumShape& shape, std::span<const std::int64_t> block);

/// Sums over records; a record is whatever the shape's bound says, or it counts and nothing else.
class RecordSums {
 public:
  explicit RecordSums(const SumShape& shape) : shape_(shape), values_(shape.size()) {}

  /// Labels in rising order; those out of range are an internal error, for data were checked when they were read.
  void add(std::span<const float> coordinates, std::span<const int> labels);
  [[nodiscard]] std::span<const std::int64_t> values() const { return values_; }

 private:
  SumShape shape_;
  std::vector<std::int64_t> values_;
};

}  // namespace feroma
