#include "feroma/drift/sequence.h"

#include <algorithm>
#include <set>

namespace feroma {
namespace {

/// An urn from which only other values than the last one may be drawn, if a change is asked for.
int draw_from_urn(const std::vector<int>& ids, bool force_change, Rng& rng) {
  for (;;) {
    const int id = ids[rng.below(ids.size())];
    if (!force_change || id != ids.back()) {
      return id;
    }
  }
}

/// Uniform over 1..bank without `forbidden`: draw from as many fewer and step over them.
int draw_from_bank(int bank, const std::set<int>& forbidden, Rng& rng) {
  int id = 1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(bank) - forbidden.size()));
  for (const int other : forbidden) {
    id += id >= other ? 1 : 0;
  }
  return id;
}

int draw_from_seen(const std::set<int>& seen, int last, bool force_change, Rng& rng) {
  std::vector<int> candidates(seen.begin(), seen.end());
  if (force_change) {
    std::erase(candidates, last);
  }
  return candidates[rng.below(candidates.size())];
}

}  // namespace

std::vector<int> draw_sequence(const ScenarioOptions& options, int bank, int excluded, Rng rng) {
  const int available = excluded == 0 ? bank : bank - 1;
  const int most = options.max_distributions == 0 ? available : std::min(options.max_distributions, available);
  std::vector<int> ids;
  std::set<int> seen;
  while (ids.size() < static_cast<std::size_t>(options.drifts)) {
    const bool exhausted = seen.size() == static_cast<std::size_t>(most);
    int id = 0;
    if (exhausted && options.continual) {
      id = ids.back();
    } else if (exhausted && options.generator != Generator::clean) {
      id = draw_from_urn(ids, options.force_change, rng);
    } else if (exhausted) {
      id = draw_from_seen(seen, ids.back(), options.force_change, rng);
    } else {
      std::set<int> forbidden = options.continual ? seen : std::set<int>{};
      if (!ids.empty() && options.continual) {
        forbidden.erase(ids.back());
      }
      if (!ids.empty() && options.force_change) {
        forbidden.insert(ids.back());
      }
      if (excluded != 0) {
        forbidden.insert(excluded);
      }
      id = draw_from_bank(bank, forbidden, rng);
    }
    ids.push_back(id);
    seen.insert(id);
  }
  return ids;
}

std::vector<int> draw_retired(int bank, Rng rng) {
  std::vector<int> retired;
  for (const std::uint32_t index :
       rng.sample(static_cast<std::size_t>(bank), std::max<std::size_t>(1, static_cast<std::size_t>(bank) / 3))) {
    retired.push_back(static_cast<int>(index) + 1);
  }
  std::sort(retired.begin(), retired.end());
  return retired;
}

void retire_last(std::vector<int>& ids, const std::vector<int>& retired, int bank, bool force_change, Rng rng) {
  std::set<int> forbidden(retired.begin(), retired.end());
  if (!forbidden.contains(ids.back())) {
    return;
  }
  if (force_change && ids.size() > 1) {
    forbidden.insert(ids[ids.size() - 2]);
  }
  ids.back() = draw_from_bank(bank, forbidden, rng);
}

}  // namespace feroma
