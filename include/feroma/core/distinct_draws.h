#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "feroma/core/rng.h"

namespace feroma {

/// Distinct numbers of 0..size-1 in random order, one at a time: the beginning of a shuffle, at the cost of what is
/// drawn and not of what there is. Borrows the stream.
class DistinctDraws {
 public:
  DistinctDraws(Rng& rng, std::size_t size) : rng_(rng), size_(size) {}

  /// The next number; may be called `size` times.
  std::uint32_t next();

 private:
  Rng& rng_;
  std::size_t size_;
  std::size_t drawn_ = 0;
  std::unordered_map<std::uint32_t, std::uint32_t> moved_;  ///< what the shuffle has put elsewhere, by position
};

}  // namespace feroma
