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
};

[[nodiscard]] Schedule make_schedule(const ScenarioOptions& options, int classes, const Rng& rng);

}  // namespace feroma
