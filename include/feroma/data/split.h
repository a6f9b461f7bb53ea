#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "feroma/data/dataset.h"

namespace feroma {

/// The samples at `indices`, in that order.
[[nodiscard]] Samples take_samples(const Samples& samples, std::span<const std::uint32_t> indices, int classes);

/// How data without an official test split are divided; always the same for the same data.
enum class SplitRule {
  group,  ///< the same fraction of every domain and class
  owner,  ///< whole owners, so that nobody is on both sides
};

/// Which samples are test data: 1 where they are. Every group of two or more samples keeps one on each side.
[[nodiscard]] std::vector<std::uint8_t> choose_test(const Samples& samples, SplitRule rule, double fraction);
/// Fills both splits of `dataset`, whose class count must be known, from all samples.
void split_(Dataset& dataset, const Samples& all, SplitRule rule, double fraction);

/**
 * Domains of several factors have names like "frontal/young/female". Keeping the first `factors` of them merges what
 * only the others tell apart, so that one dataset serves every level: 1 gives view, 2 view and age, 3 all. Ids keep
 * their order.
 */
void keep_domain_factors_(Dataset& dataset, int factors);
/// How many factors a dataset's domains have; 0 without domains.
[[nodiscard]] int domain_factors(const Dataset& dataset);

}  // namespace feroma
