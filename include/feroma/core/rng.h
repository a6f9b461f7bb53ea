#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace feroma {

/**
 * A counter-based random stream (Philox 4x32-10). Streams are derived from names and numbers, never from one
 * another's state, so the order in which clients or threads run cannot change a result.
 */
class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  /// The stream for `purpose`; same seed and arguments, same stream. Does not consume this stream.
  [[nodiscard]] Rng derive(std::string_view purpose, std::uint64_t a = 0, std::uint64_t b = 0) const;

  std::uint32_t next_u32();
  std::uint64_t next_u64();
  /// Uniform on 0..bound-1 without bias; bound >= 1.
  std::uint64_t below(std::uint64_t bound);
  /// Uniform on [0, 1) with 53 random bits.
  double uniform();
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  bool bernoulli(double probability) { return uniform() < probability; }
  /// Standard normal (Box-Muller, one value per call).
  double normal();

  /// Fisher-Yates; the same permutation on every platform.
  template <class T>
  void shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[below(i)]);
    }
  }
  /// A random permutation of 0..size-1.
  [[nodiscard]] std::vector<std::uint32_t> permutation(std::size_t size);
  /// `count` distinct values of 0..size-1 in random order; count <= size.
  [[nodiscard]] std::vector<std::uint32_t> sample(std::size_t size, std::size_t count);

 private:
  void refill();

  std::uint64_t key_;
  std::uint64_t counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

}  // namespace feroma
