#include "feroma/drift/schedule.h"

#include <algorithm>
#include <set>

#include "feroma/core/error.h"

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

int draw_from_bank(const std::vector<int>& ids, int bank, bool force_change, Rng& rng) {
  const auto size = static_cast<std::uint64_t>(bank);
  if (!force_change || ids.empty()) {
    return 1 + static_cast<int>(rng.below(size));
  }
  // Uniform over the bank without its last id: draw from one fewer and step over it.
  const int id = 1 + static_cast<int>(rng.below(size - 1));
  return id >= ids.back() ? id + 1 : id;
}

/// Uniform draws from the bank. The paper's generator stops doing so once a client has seen every distribution:
/// from then on it repeats past values in proportion to their counts (a Polya urn).
std::vector<int> draw_sequence(const ScenarioOptions& options, int bank, Rng rng) {
  std::vector<int> ids;
  std::set<int> seen;
  while (ids.size() < static_cast<std::size_t>(options.drifts)) {
    const bool exhausted = seen.size() == static_cast<std::size_t>(bank);
    const bool urn = exhausted && options.generator == Generator::feroma;
    ids.push_back(urn ? draw_from_urn(ids, options.force_change, rng)
                      : draw_from_bank(ids, bank, options.force_change, rng));
    seen.insert(ids.back());
  }
  return ids;
}

/// Stage i starts at round R * i / E. Rounds count from 1, so in the paper's table the first stage is one round
/// short and with E = R it never runs; `clean` shifts the table by one round and every stage runs equally long.
std::vector<int> make_stage_table(const ScenarioOptions& options) {
  const int shift = options.generator == Generator::clean ? 1 : 0;
  std::vector<int> stage_of_round(static_cast<std::size_t>(options.rounds) + 1, 0);
  int stage = 0;
  for (Round round = 1; round <= options.rounds; ++round) {
    const auto starts_later = [&](int i) { return std::int64_t{options.rounds} * i / options.drifts > round - shift; };
    while (stage + 1 < options.drifts && !starts_later(stage + 1)) {
      ++stage;
    }
    stage_of_round[static_cast<std::size_t>(round)] = stage;
  }
  return stage_of_round;
}

/// A test client gets the last distribution of a random client, so it is never unseen but usually not its own.
/// Permuted labels cannot be told from unlabelled data; there everyone is tested on its own last distribution.
std::vector<int> draw_test_ids(const std::vector<std::vector<int>>& ids, Shift shift, const Rng& rng) {
  std::vector<int> test_ids;
  test_ids.reserve(ids.size());
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const std::size_t from = shift == Shift::concept_label ? k : rng.derive("test_id", k).below(ids.size());
    test_ids.push_back(ids[from].back());
  }
  return test_ids;
}

}  // namespace

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

Schedule make_schedule(const ScenarioOptions& options, int classes, const Rng& rng) {
  Schedule schedule;
  schedule.bank = make_bank(options, classes, rng);
  require(!options.force_change || schedule.bank.size() >= 2, ErrorCode::invalid_config,
          "[schedule] force_change needs at least two distributions, got {}", schedule.bank.size());
  schedule.ids.reserve(static_cast<std::size_t>(options.clients));
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(options.clients); ++k) {
    schedule.ids.push_back(draw_sequence(options, schedule.bank.size(), rng.derive("sequence", k)));
  }
  schedule.test_ids = draw_test_ids(schedule.ids, options.shift, rng);
  schedule.stage_of_round = make_stage_table(options);
  return schedule;
}

}  // namespace feroma
