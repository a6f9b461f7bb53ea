#pragma once

#include <cstdint>
#include <vector>

#include "feroma/core/batch.h"
#include "feroma/core/rng.h"

namespace feroma {

/// Made-up samples that every client has: around a smooth mean of its own for each class.
struct Surrogates {
  std::vector<float> rows;  ///< count x shape.size()
  std::vector<std::int32_t> labels;
};

/// `per_class` samples of each class: a sum of a few slow waves of mean square 1, plus normal noise.
[[nodiscard]] Surrogates make_surrogates(SampleShape shape, int classes, int per_class, double noise, const Rng& rng);

/// Made-up samples in an endless random order.
class SurrogateStream {
 public:
  SurrogateStream(const Surrogates& all, std::size_t row_size, const Rng& rng)
      : all_(all), row_size_(row_size), rng_(rng) {}

  [[nodiscard]] Surrogates next(int count);

 private:
  const Surrogates& all_;
  std::size_t row_size_;
  Rng rng_;
  std::vector<std::uint32_t> order_;
  std::size_t at_ = 0;
};

}  // namespace feroma
