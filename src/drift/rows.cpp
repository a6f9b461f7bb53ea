#include "feroma/drift/rows.h"

namespace feroma {

std::vector<std::uint32_t> few_label_sources(const Samples& samples, const Shares& shares,
                                             std::span<const std::uint32_t> share, int classes, int per_class,
                                             const std::function<bool(std::uint32_t)>& wanted, Rng rng) {
  std::vector<std::uint32_t> chosen;
  if (per_class == 0) {
    return chosen;
  }
  std::vector<int> missing(static_cast<std::size_t>(classes), per_class);
  const std::span<const std::uint32_t> pool = shares.pool();
  std::vector<bool> is_own(pool.size(), false);
  for (const std::uint32_t source : share) {
    is_own[source] = true;
  }
  for (const std::uint32_t position : rng.permutation(pool.size())) {
    const std::uint32_t source = pool[position];
    const auto label = static_cast<std::size_t>(samples.labels[source]);
    if (!is_own[source] && missing[label] > 0 && wanted(source)) {
      --missing[label];
      chosen.push_back(source);
    }
  }
  return chosen;
}

}  // namespace feroma
