#pragma once

#include <vector>

#include "feroma/core/ids.h"
#include "feroma/core/rng.h"
#include "feroma/partition/bank.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// Which distribution every client has at every stage, and which one it is tested on. Testable without any picture.
struct Schedule {
  std::vector<std::vector<int>> ids;  ///< [client][stage], 1..B
  std::vector<int> test_ids;          ///< [client]
  std::vector<int> stage_of_round;    ///< [round 1..R]; index 0 is unused
  Bank bank;

  /// Stage boundaries at which a client's distribution really changes, over all clients.
  [[nodiscard]] int realised_changes() const;
  /// The first round of a stage; an internal error where no round has it.
  [[nodiscard]] Round first_round(int stage) const;
};

/// Natural distributions are the dataset's `domains`. Where clients have distributions of their own, those are 1..K for
/// training and K+1..2K for tests that drift.
[[nodiscard]] Schedule make_schedule(const ScenarioOptions& options, int classes, const Rng& rng, int domains = 0);

/// Where a permutation made on demand belongs: a client's stage, or its test.
struct FreshPermutation {
  std::size_t client = 0;
  std::size_t stage = 0;
  bool test = false;
};
/// The ids of permutations made on demand, and back: stages of client 0 first, tests of all clients at the end.
[[nodiscard]] int fresh_id(const ScenarioOptions& options, FreshPermutation place);
[[nodiscard]] FreshPermutation fresh_place(const ScenarioOptions& options, int id);

}  // namespace feroma
