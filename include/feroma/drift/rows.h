#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/view.h"
#include "feroma/partition/shares.h"

namespace feroma {

/// What a client has: stored samples and the recipes they go through.
struct SampleRows {
  std::vector<ViewItem> items;
  std::shared_ptr<const std::vector<Recipe>> recipes;  ///< shared: one list may serve all clients
};

/// `per_class` samples of each class, or as many as there are, for which `wanted` holds and which are not in `share`. A
/// sample of several labels counts for each of them, one of none for the class "nothing".
[[nodiscard]] std::vector<std::uint32_t> few_label_sources(const Samples& samples, const Shares& shares,
                                                           std::span<const std::uint32_t> share, int classes,
                                                           int per_class,
                                                           const std::function<bool(std::uint32_t)>& wanted, Rng rng);

}  // namespace feroma
