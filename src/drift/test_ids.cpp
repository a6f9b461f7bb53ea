#include "feroma/drift/test_ids.h"

#include <algorithm>
#include <set>

#include "feroma/core/error.h"

namespace feroma {
namespace {

std::vector<int> sorted(const std::set<int>& ids) { return {ids.begin(), ids.end()}; }

std::set<int> last_ids(const Schedule& schedule) {
  std::set<int> ids;
  for (const std::vector<int>& sequence : schedule.ids) {
    ids.insert(sequence.back());
  }
  return ids;
}

/// Distributions that somebody trained on in a round, but nobody in the last stage.
std::vector<int> ids_seen_earlier(const Schedule& schedule) {
  const std::set<int> last = last_ids(schedule);
  const std::set<int> stages(schedule.stage_of_round.begin() + 1, schedule.stage_of_round.end());
  std::set<int> earlier;
  for (const std::vector<int>& sequence : schedule.ids) {
    for (const int stage : stages) {
      const int id = sequence[static_cast<std::size_t>(stage)];
      if (!last.contains(id)) {
        earlier.insert(id);
      }
    }
  }
  require(!earlier.empty(), ErrorCode::invalid_config,
          "scenario.test_rule must not be seen_once here: no distribution occurs in an earlier stage only; more "
          "clients or more drifts would give some");
  return sorted(earlier);
}

}  // namespace

void draw_test_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng) {
  const std::vector<std::vector<int>>& ids = schedule.ids;
  const auto fill = [&](auto choose) {
    schedule.test_ids.clear();
    schedule.test_ids.reserve(ids.size());
    for (std::size_t k = 0; k < ids.size(); ++k) {
      schedule.test_ids.push_back(choose(k));
    }
  };
  const auto uniform = [&](const std::vector<int>& from, std::size_t k) {
    return from[rng.derive("test_id", k).below(from.size())];
  };
  switch (test_rule(options)) {
    case TestRule::last_list:
      // The last distribution of a random client, so it is never unseen but usually not its own.
      fill([&](std::size_t k) { return ids[rng.derive("test_id", k).below(ids.size())].back(); });
      return;
    case TestRule::last_set: {
      const std::vector<int> last = sorted(last_ids(schedule));
      fill([&](std::size_t k) { return uniform(last, k); });
      return;
    }
    case TestRule::own_seen:
      fill([&](std::size_t k) { return uniform(sorted({ids[k].begin(), ids[k].end()}), k); });
      return;
    case TestRule::own_last: fill([&](std::size_t k) { return ids[k].back(); }); return;
    case TestRule::seen_once: {
      const std::vector<int> earlier = ids_seen_earlier(schedule);
      fill([&](std::size_t k) { return uniform(earlier, k); });
      return;
    }
    case TestRule::unseen:
    case TestRule::automatic: return;
  }
  unreachable();
}

void draw_unseen_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng) {
  const auto clients = static_cast<std::size_t>(options.test_clients == 0 ? options.clients : options.test_clients);
  const auto chosen = static_cast<std::size_t>(unseen_clients(options));
  for (const std::uint32_t k : rng.derive("unseen_clients").sample(clients, chosen)) {
    const std::uint64_t entry = rng.derive("unseen_id", k).below(static_cast<std::uint64_t>(schedule.bank.held_out));
    schedule.test_ids[k] = schedule.bank.trained() + 1 + static_cast<int>(entry);
  }
}

}  // namespace feroma
