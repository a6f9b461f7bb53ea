#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "feroma/core/rng.h"

namespace feroma {

/// How many clients a split of `total` samples is for: those who divide it, or, where each draws `samples`, as many as
/// a division into shares of that size would give. Sizes that depend on it do not grow with the clients who draw.
[[nodiscard]] std::size_t share_count(std::size_t total, std::size_t clients, std::size_t samples);

/// Test samples of a client that draws `samples` out of `train`: the same fraction of `test`, at least one.
[[nodiscard]] std::size_t drawn_test_samples(std::size_t samples, std::size_t train, std::size_t test);

/**
 * Who owns which samples of a split. Either the clients divide it, and no sample has two owners; or every client draws
 * `samples` for itself from its own stream, without replacement, and clients overlap; or they are listed. A drawn share
 * depends on the client, not on how many there are; none of them is stored.
 */
class Shares {
 public:
  /// `samples` 0 divides the split.
  Shares(std::size_t total, std::size_t clients, std::size_t samples, const Rng& rng);

  /// Everybody's samples as they are listed.
  Shares(std::size_t total, std::vector<std::vector<std::uint32_t>> lists, const Rng& rng);

  [[nodiscard]] std::vector<std::uint32_t> of(std::size_t client) const;
  /// Whether `wanted` holds for a sample of the client; looks no further than the first one.
  [[nodiscard]] bool any_of(std::size_t client, const std::function<bool(std::uint32_t)>& wanted) const;
  /// Every sample of the split, in random order.
  [[nodiscard]] std::span<const std::uint32_t> pool() const { return order_; }
  [[nodiscard]] std::size_t count() const { return share_count(order_.size(), clients_, samples_); }

 private:
  [[nodiscard]] std::span<const std::uint32_t> part(std::size_t client) const;

  std::size_t clients_;
  std::size_t samples_;
  Rng rng_;                                        ///< never drawn from
  std::vector<std::uint32_t> order_;               ///< clients own consecutive parts of it, or draw positions in it
  std::vector<std::vector<std::uint32_t>> lists_;  ///< one per client, or none at all
};

}  // namespace feroma
