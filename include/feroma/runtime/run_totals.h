#pragma once

#include <cstdint>

#include "feroma/client/context.h"
#include "feroma/client/trainer.h"
#include "feroma/core/archive.h"
#include "feroma/core/ids.h"

namespace feroma {

/// What an algorithm's run has cost and found so far; part of every checkpoint.
struct RunTotals {
  double seconds = 0;
  StageSeconds stages;
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  std::int64_t client_rounds = 0;
  std::int64_t samples_held = 0;  ///< training samples, once per client and round
  Passes passes;                  ///< of the clients, telemetry left out
  double newcomer_accuracy = 0;   ///< sum over clients that arrived later: the first model they were given
  std::int64_t newcomers = 0;
  Round best_round = 0;
  double best_loss = 0;
  Bytes best_state;  ///< the algorithm as it was after the best validation round

  void save(ArchiveWriter& out) const;
  [[nodiscard]] static RunTotals load(ArchiveReader& in);
};

}  // namespace feroma
