#include "feroma/data/split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "feroma/core/error.h"
#include "feroma/core/rng.h"

namespace feroma {
namespace {

/// Splits depend on the data alone, never on a run's seed: everybody tests on the same samples.
constexpr std::uint64_t kSplitSeed = 20;

template <class T>
void take(const std::vector<T>& from, std::vector<T>& to, std::span<const std::uint32_t> indices, std::size_t width) {
  if (from.empty()) {
    return;
  }
  to.reserve(indices.size() * width);
  for (const std::uint32_t i : indices) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(i * width);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
  }
}

std::size_t test_share(std::size_t count, double fraction) {
  const auto share = static_cast<std::size_t>(std::llround(static_cast<double>(count) * fraction));
  return count < 2 ? 0 : std::clamp<std::size_t>(share, 1, count - 1);
}

std::vector<std::uint8_t> choose_by_group(const Samples& samples, double fraction) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::vector<std::uint32_t>> groups;
  for (std::size_t i = 0; i < samples.count(); ++i) {
    groups[{samples.domains.empty() ? 0 : samples.domains[i], samples.labels[i]}].push_back(
        static_cast<std::uint32_t>(i));
  }
  std::vector<std::uint8_t> chosen(samples.count(), 0);
  const Rng rng(kSplitSeed);
  for (auto& [key, members] : groups) {
    rng.derive("test split", static_cast<std::uint64_t>(key.first), static_cast<std::uint64_t>(key.second))
        .shuffle(std::span(members));
    for (std::size_t i = 0; i < test_share(members.size(), fraction); ++i) {
      chosen[members[i]] = 1;
    }
  }
  return chosen;
}

std::vector<std::uint8_t> choose_by_owner(const Samples& samples, double fraction) {
  require(samples.owners.size() == samples.count(), ErrorCode::invalid_data,
          "[dataset] a split by owner needs the owner of every sample, got {} for {}", samples.owners.size(),
          samples.count());
  std::map<std::int32_t, std::size_t> size_of;
  for (const std::int32_t owner : samples.owners) {
    ++size_of[owner];
  }
  std::vector<std::int32_t> order;
  for (const auto& [owner, size] : size_of) {
    order.push_back(owner);
  }
  Rng(kSplitSeed).derive("test owners").shuffle(std::span(order));
  // Owners go to the test side until it is full; one that would overfill it is passed over.
  const std::size_t wanted = test_share(samples.count(), fraction);
  std::map<std::int32_t, bool> tested;
  std::size_t taken = 0;
  for (const std::int32_t owner : order) {
    if (taken + size_of[owner] <= wanted) {
      tested[owner] = true;
      taken += size_of[owner];
    }
  }
  std::vector<std::uint8_t> chosen;
  for (const std::int32_t owner : samples.owners) {
    chosen.push_back(tested.contains(owner) ? 1 : 0);
  }
  return chosen;
}

std::string first_factors(const std::string& name, int factors) {
  std::size_t end = 0;
  for (int i = 0; i < factors && end != std::string::npos; ++i) {
    end = name.find('/', i == 0 ? 0 : end + 1);
  }
  return name.substr(0, end);
}

}  // namespace

Samples take_samples(const Samples& samples, std::span<const std::uint32_t> indices, int classes) {
  Samples out;
  out.shape = samples.shape;
  out.columns = samples.columns;
  const auto width = static_cast<std::size_t>(samples.shape.size());
  take(samples.pixels, out.pixels, indices, width);
  take(samples.values, out.values, indices, width);
  take(samples.labels, out.labels, indices, 1);
  take(samples.targets, out.targets, indices, static_cast<std::size_t>(classes));
  take(samples.domains, out.domains, indices, 1);
  take(samples.owners, out.owners, indices, 1);
  return out;
}

std::vector<std::uint8_t> choose_test(const Samples& samples, SplitRule rule, double fraction) {
  switch (rule) {
    case SplitRule::group: return choose_by_group(samples, fraction);
    case SplitRule::owner: return choose_by_owner(samples, fraction);
  }
  unreachable();
}

void split_(Dataset& dataset, const Samples& all, SplitRule rule, double fraction) {
  const std::vector<std::uint8_t> chosen = choose_test(all, rule, fraction);
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> test;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    (chosen[i] != 0 ? test : train).push_back(static_cast<std::uint32_t>(i));
  }
  dataset.train = take_samples(all, train, dataset.classes);
  dataset.test = take_samples(all, test, dataset.classes);
}

int domain_factors(const Dataset& dataset) {
  if (dataset.domain_names.empty()) {
    return 0;
  }
  const std::string& name = dataset.domain_names.front();
  return 1 + static_cast<int>(std::count(name.begin(), name.end(), '/'));
}

void keep_domain_factors_(Dataset& dataset, int factors) {
  require(factors >= 1 && factors <= domain_factors(dataset), ErrorCode::invalid_config,
          "[dataset] {} has domains of {} factors, got a wish for {}", dataset.name, domain_factors(dataset), factors);
  std::vector<std::string> names;
  std::vector<std::int32_t> new_id;
  for (const std::string& name : dataset.domain_names) {
    const std::string kept = first_factors(name, factors);
    const auto found = std::find(names.begin(), names.end(), kept);
    new_id.push_back(static_cast<std::int32_t>(found - names.begin()));
    if (found == names.end()) {
      names.push_back(kept);
    }
  }
  for (Samples* samples : {&dataset.train, &dataset.test}) {
    for (std::int32_t& domain : samples->domains) {
      domain = new_id[static_cast<std::size_t>(domain)];
    }
  }
  dataset.domain_names = std::move(names);
}

}  // namespace feroma
