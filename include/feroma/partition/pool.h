#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/partition/modes.h"

namespace feroma {

/// A contiguous part of a list.
struct Slice {
  std::size_t first = 0;
  std::size_t count = 0;
  friend bool operator==(const Slice&, const Slice&) = default;
};

/// Client k's part of `total` samples: equal parts in order, the last client takes the remainder.
[[nodiscard]] Slice client_slice(std::size_t total, std::size_t clients, std::size_t client);

/// How many rows a pool of `count` samples has after scaling by max(1, stages * clients / 30), rounded down.
[[nodiscard]] std::size_t scaled_count(std::size_t count, std::size_t stages, std::size_t clients);
/// The same under another rule.
[[nodiscard]] std::size_t scaled_count(std::size_t count, std::size_t stages, std::size_t clients, ScaleRule rule);

/// `pool` extended to `rows` by draws with replacement from itself, in random order; every sample occurs at least
/// once. Needs rows >= pool.size() >= 1.
[[nodiscard]] std::vector<std::uint32_t> extend_pool(std::span<const std::uint32_t> pool, std::size_t rows, Rng rng);

/// Stage i of `rows` rows in `stages` chunks of equal size, the last one shorter. Empty where the rows run out.
[[nodiscard]] Slice stage_slice(std::size_t rows, std::size_t stages, std::size_t stage);

/// Rows of a stage, divided for training and validation; positions refer to the stage.
struct HeldOutSplit {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> held_out;
};
/// Holds out ceil(20 %) of the rows at random, whatever they are copies of; at least one row is left to train on.
[[nodiscard]] HeldOutSplit split_rows(std::size_t rows, Rng rng);
/// Holds out about 20 % of the rows so that all copies of a source are on one side. Both sides get something where
/// there are two sources; a single source is trained on.
[[nodiscard]] HeldOutSplit split_sources(std::span<const std::uint32_t> sources, Rng rng);

}  // namespace feroma
