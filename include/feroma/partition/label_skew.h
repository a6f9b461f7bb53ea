#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/partition/skew.h"

namespace feroma {

/// Samples of each client.
using Lists = std::vector<std::vector<std::uint32_t>>;
/// Samples of each client in both splits.
struct SplitLists {
  Lists train;
  Lists test;
};

/// How many samples each client is to have.
struct Sizes {
  std::vector<std::size_t> train;
  std::vector<std::size_t> test;
};

/**
 * Published ANDA's label skew: client after client takes from what is left, and prefers classes of which much is left,
 * more so with a larger exponent. Its test data are taken with the same preferences. Some samples occur twice in one
 * client, and some in none.
 */
[[nodiscard]] SplitLists skewed_lists(const Dataset& dataset, const Sizes& sizes, const SkewParameters& parameters,
                                      const Rng& rng);

/// Each client draws from the whole dataset, classes ranked in its own random order; the test order is reversed or
/// another one, so P(Y) differs between training and test.
[[nodiscard]] SplitLists ranked_lists(const Dataset& dataset, const Sizes& sizes, const SkewParameters& parameters,
                                      TestOrder test_order, const Rng& rng);

/// How likely a sample of each class is taken, by how many are left: softmax of count^exponent.
[[nodiscard]] std::vector<double> acceptance(std::span<const std::size_t> counts, double exponent);

}  // namespace feroma
