#include "feroma/partition/pool.h"

#include <algorithm>

#include "feroma/core/error.h"

namespace feroma {
namespace {

/// Stages x clients at which a federation's rows equal the dataset once, so a stage has 1/30 of it.
constexpr std::size_t kScaleBase = 30;

constexpr std::size_t kPaperClients = 20;
/// The data of 20 clients, in the unit of data_units.
constexpr std::size_t kDataUnit = 300;

/// All clients' data, where 20 clients have kDataUnit: 10 clients half, 50 twice and 100 three times as much, straight
/// lines between and beyond.
std::size_t data_units(std::size_t clients) {
  if (clients <= 20) {
    return 15 * clients;
  }
  return clients <= 50 ? kDataUnit + 10 * (clients - 20) : 2 * kDataUnit + 6 * (clients - 50);
}

std::size_t held_out_target(std::size_t rows) {
  const std::size_t fifth = (rows + 4) / 5;
  return std::min(fifth, rows == 0 ? 0 : rows - 1);
}

/// The copies of one source: rows[order[first..first+count)].
struct Group {
  std::size_t first = 0;
  std::size_t count = 0;
};

std::vector<Group> group_sorted(std::span<const std::uint32_t> sources, std::span<const std::uint32_t> order) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || sources[order[i]] != sources[order[i - 1]]) {
      groups.push_back({i, 0});
    }
    ++groups.back().count;
  }
  return groups;
}

/// Chooses groups in order until `target` rows are reached, skipping those that would overshoot. What is still
/// missing then is filled by the smallest group left, if that brings the total closer.
std::vector<bool> choose_groups(std::span<const Group> groups, std::size_t target) {
  std::vector<bool> chosen(groups.size(), false);
  std::size_t rows = 0;
  std::size_t number = 0;
  std::size_t smallest = groups.size();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (rows + groups[g].count <= target) {
      chosen[g] = true;
      rows += groups[g].count;
      ++number;
    } else if (smallest == groups.size() || groups[g].count < groups[smallest].count) {
      smallest = g;
    }
  }
  const bool spare = number + 2 <= groups.size();
  if (spare && (number == 0 || rows + groups[smallest].count - target < target - rows)) {
    chosen[smallest] = true;
  }
  return chosen;
}

}  // namespace

Slice client_slice(std::size_t total, std::size_t clients, std::size_t client) {
  require(client < clients, ErrorCode::internal, "[pool] client must be below {}, got {}", clients, client);
  const std::size_t share = total / clients;
  const std::size_t first = client * share;
  return {first, client + 1 == clients ? total - first : share};
}

std::size_t scaled_count(std::size_t count, std::size_t stages, std::size_t clients) {
  const std::size_t factor = std::max(stages * clients, kScaleBase);
  return count + count * (factor - kScaleBase) / kScaleBase;
}

std::size_t scaled_count(std::size_t count, std::size_t stages, std::size_t clients, ScaleRule rule) {
  switch (rule) {
    case ScaleRule::automatic:
    case ScaleRule::code: return scaled_count(count, stages, clients);
    case ScaleRule::paper: {
      // A federation of 20 has kPaperClients * stages / kScaleBase times the dataset; others have data_units of that.
      const std::size_t base = kDataUnit * kScaleBase / kPaperClients;
      const std::size_t factor = std::max(data_units(clients) * stages, base);
      return count + count * (factor - base) / base;
    }
    case ScaleRule::none: return count;
  }
  unreachable();
}

std::vector<std::uint32_t> extend_pool(std::span<const std::uint32_t> pool, std::size_t rows, Rng rng) {
  require(!pool.empty() && rows >= pool.size(), ErrorCode::internal, "[pool] {} samples cannot become {} rows",
          pool.size(), rows);
  std::vector<std::uint32_t> extended(pool.begin(), pool.end());
  extended.reserve(rows);
  while (extended.size() < rows) {
    extended.push_back(pool[rng.below(pool.size())]);
  }
  rng.shuffle(std::span(extended));
  return extended;
}

Slice stage_slice(std::size_t rows, std::size_t stages, std::size_t stage) {
  const std::size_t chunk = (rows + stages - 1) / stages;
  const std::size_t first = std::min(rows, stage * chunk);
  return {first, std::min(chunk, rows - first)};
}

HeldOutSplit split_rows(std::size_t rows, Rng rng) {
  const std::vector<std::uint32_t> order = rng.permutation(rows);
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(held_out_target(rows));
  return {.train = {middle, order.end()}, .held_out = {order.begin(), middle}};
}

HeldOutSplit split_sources(std::span<const std::uint32_t> sources, Rng rng) {
  std::vector<std::uint32_t> order(sources.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<std::uint32_t>(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&sources](std::uint32_t a, std::uint32_t b) { return sources[a] < sources[b]; });
  std::vector<Group> groups = group_sorted(sources, order);
  rng.shuffle(std::span(groups));
  const std::vector<bool> chosen = choose_groups(groups, held_out_target(sources.size()));
  std::vector<bool> is_held_out(sources.size(), false);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t i = 0; chosen[g] && i < groups[g].count; ++i) {
      is_held_out[order[groups[g].first + i]] = true;
    }
  }
  HeldOutSplit split;
  for (std::uint32_t row = 0; row < sources.size(); ++row) {
    (is_held_out[row] ? split.held_out : split.train).push_back(row);
  }
  return split;
}

}  // namespace feroma
