#include "feroma/drift/schedule.h"

#include <algorithm>

#include "feroma/core/error.h"
#include "feroma/drift/sequence.h"
#include "feroma/drift/test_ids.h"

namespace feroma {
namespace {

/// Rounds after which stages begin: evenly R * i / E, or at sorted random times. The first always begins at 0.
std::vector<std::int64_t> stage_starts(const ScenarioOptions& options, Rng rng) {
  std::vector<std::int64_t> starts{0};
  for (int i = 1; i < options.drifts; ++i) {
    starts.push_back(options.random_lockers ? static_cast<std::int64_t>(options.rounds * rng.uniform())
                                            : std::int64_t{options.rounds} * i / options.drifts);
  }
  std::sort(starts.begin(), starts.end());
  return starts;
}

/// Rounds count from 1, so in the paper's table the first stage is one round short and with E = R it never runs;
/// `clean` shifts the table by one round and every stage runs equally long.
std::vector<int> make_stage_table(const ScenarioOptions& options, const Rng& rng) {
  const int shift = options.generator == Generator::clean ? 1 : 0;
  const std::vector<std::int64_t> starts = stage_starts(options, rng.derive("lockers"));
  std::vector<int> stage_of_round(static_cast<std::size_t>(options.rounds) + 1, 0);
  std::size_t stage = 0;
  for (Round round = 1; round <= options.rounds; ++round) {
    while (stage + 1 < starts.size() && starts[stage + 1] <= round - shift) {
      ++stage;
    }
    stage_of_round[static_cast<std::size_t>(round)] = static_cast<int>(stage);
  }
  return stage_of_round;
}

/// Everybody has one distribution all the time: its own, or that of everybody.
void make_own_ids(Schedule& schedule, const ScenarioOptions& options) {
  const bool drifts = tests_drift(options.drift_mode);
  const bool one = is_one_distribution(options.shift);
  for (int k = 0; k < options.clients; ++k) {
    const int id = one ? 1 : k + 1;
    schedule.ids.push_back({id});
    schedule.test_ids.push_back(drifts ? options.clients + id : id);
  }
  schedule.bank.unlisted = (one ? 1 : options.clients) * (drifts ? 2 : 1);
}

void make_fresh_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(options.clients); ++k) {
    std::vector<int>& sequence = schedule.ids.emplace_back();
    for (std::size_t stage = 0; stage < static_cast<std::size_t>(options.drifts); ++stage) {
      sequence.push_back(fresh_id(options, {.client = k, .stage = stage}));
    }
    schedule.test_ids.push_back(fresh_id(options, {.client = k, .test = true}));
  }
  const bool tests = test_rule(options) == TestRule::unseen;
  schedule.bank.unlisted = options.clients * (options.drifts + (tests ? 1 : 0));
  draw_test_ids(schedule, options, rng);
}

void draw_bank_ids(Schedule& schedule, const ScenarioOptions& options, const Rng& rng) {
  const int bank = schedule.bank.trained();
  const TestRule rule = test_rule(options);
  require(!options.force_change || bank >= 2, ErrorCode::invalid_config,
          "[schedule] force_change needs at least two distributions, got {}", bank);
  const int fewest = rule == TestRule::seen_once || (rule == TestRule::unseen && options.force_change) ? 3 : 2;
  require((rule != TestRule::unseen && rule != TestRule::seen_once) || bank >= fewest, ErrorCode::invalid_config,
          "[schedule] test_rule {} needs at least {} distributions, got {}", name_of(rule), fewest, bank);
  const std::vector<int> retired =
      rule == TestRule::seen_once ? draw_retired(bank, rng.derive("retired")) : std::vector<int>{};
  schedule.ids.reserve(static_cast<std::size_t>(options.clients));
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(options.clients); ++k) {
    int excluded = 0;
    if (rule == TestRule::unseen) {
      excluded = 1 + static_cast<int>(rng.derive("test_id", k).below(static_cast<std::uint64_t>(bank)));
      schedule.test_ids.push_back(excluded);
    }
    schedule.ids.push_back(options.in_turn
                               ? std::vector<int>{1 + static_cast<int>(k % static_cast<std::uint64_t>(bank))}
                               : draw_sequence(options, bank, excluded, rng.derive("sequence", k)));
    if (!retired.empty()) {
      retire_last(schedule.ids.back(), retired, bank, options.force_change, rng.derive("retire", k));
    }
  }
  draw_test_ids(schedule, options, rng);
  if (unseen_clients(options) > 0) {
    draw_unseen_ids(schedule, options, rng);
  }
}

}  // namespace

Round Schedule::first_round(int stage) const {
  const auto found = std::find(stage_of_round.begin() + 1, stage_of_round.end(), stage);
  require(found != stage_of_round.end(), ErrorCode::internal, "[client] no round has window {}", stage);
  return static_cast<Round>(found - stage_of_round.begin());
}

int Schedule::realised_changes() const {
  int changes = 0;
  for (const std::vector<int>& sequence : ids) {
    for (std::size_t round = 2; round < stage_of_round.size(); ++round) {
      const auto before = static_cast<std::size_t>(stage_of_round[round - 1]);
      const auto now = static_cast<std::size_t>(stage_of_round[round]);
      changes += sequence[before] != sequence[now] ? 1 : 0;
    }
  }
  return changes;
}

Schedule make_schedule(const ScenarioOptions& options, int classes, const Rng& rng, int domains) {
  Schedule schedule;
  schedule.stage_of_round = make_stage_table(options, rng);
  if (!has_bank(options)) {
    make_own_ids(schedule, options);
    return schedule;
  }
  schedule.bank = make_bank(options, classes, rng, domains);
  if (unseen_clients(options) > 0) {
    add_held_out_entries(schedule.bank, options, classes, rng);
  }
  if (has_fresh_permutations(options, classes)) {
    make_fresh_ids(schedule, options, rng);
  } else {
    draw_bank_ids(schedule, options, rng);
  }
  return schedule;
}

int fresh_id(const ScenarioOptions& options, FreshPermutation place) {
  const auto stages = static_cast<std::size_t>(options.drifts);
  const std::size_t before = place.test ? static_cast<std::size_t>(options.clients) * stages + place.client
                                        : place.client * stages + place.stage;
  return static_cast<int>(before) + 1;
}

FreshPermutation fresh_place(const ScenarioOptions& options, int id) {
  const auto stages = static_cast<std::size_t>(options.drifts);
  const auto of_stages = static_cast<std::size_t>(options.clients) * stages;
  const auto index = static_cast<std::size_t>(id - 1);
  if (index >= of_stages) {
    return {.client = index - of_stages, .test = true};
  }
  return {.client = index / stages, .stage = index % stages};
}

}  // namespace feroma
