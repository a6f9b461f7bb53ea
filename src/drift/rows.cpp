#include "feroma/drift/rows.h"

#include <algorithm>

namespace feroma {
namespace {

/// The labels of a sample; where it may have several and has none, one more for "nothing".
std::vector<std::size_t> labels_of(const Samples& samples, std::uint32_t source, std::size_t classes) {
  if (!samples.multi_label()) {
    return {static_cast<std::size_t>(samples.labels[source])};
  }
  std::vector<std::size_t> labels;
  for (std::size_t c = 0; c < classes; ++c) {
    if (samples.targets[source * classes + c] != 0) {
      labels.push_back(c);
    }
  }
  return labels.empty() ? std::vector<std::size_t>{classes} : labels;
}

}  // namespace

std::vector<std::uint32_t> few_label_sources(const Samples& samples, const Shares& shares,
                                             std::span<const std::uint32_t> share, int classes, int per_class,
                                             const std::function<bool(std::uint32_t)>& wanted, Rng rng) {
  std::vector<std::uint32_t> chosen;
  if (per_class == 0) {
    return chosen;
  }
  const auto known = static_cast<std::size_t>(classes);
  std::vector<int> missing(known + 1, per_class);
  const std::span<const std::uint32_t> pool = shares.pool();
  std::vector<bool> is_own(pool.size(), false);
  for (const std::uint32_t source : share) {
    is_own[source] = true;
  }
  for (const std::uint32_t position : rng.permutation(pool.size())) {
    const std::uint32_t source = pool[position];
    if (is_own[source] || !wanted(source)) {
      continue;
    }
    const std::vector<std::size_t> labels = labels_of(samples, source, known);
    if (std::any_of(labels.begin(), labels.end(), [&](std::size_t label) { return missing[label] > 0; })) {
      chosen.push_back(source);
      for (const std::size_t label : labels) {
        --missing[label];
      }
    }
  }
  return chosen;
}

}  // namespace feroma
