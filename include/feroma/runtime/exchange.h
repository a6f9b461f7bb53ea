#pragma once

#include <map>
#include <string>
#include <vector>

#include "feroma/report/record.h"
#include "feroma/runtime/client_pool.h"

namespace feroma {

/// What went to a client and came from it.
struct ClientBytes {
  std::int64_t up = 0;
  std::int64_t down = 0;
};

/// What all exchanges of a round gave.
struct Exchanged {
  std::map<ClientId, ClientReport> reports;  ///< of those who answered every phase
  std::map<ClientId, int> counted;           ///< phases, the first ones, into which a client's answer went
  std::vector<DroppedRecord> dropped;
  std::int64_t bytes_up = 0;
  std::int64_t bytes_down = 0;
  std::map<ClientId, ClientBytes> bytes = {};  ///< the same by client
  StageSeconds stages;
  Passes passes;
};

/// All phases of a round with those of `participants` who keep answering. Answers that cannot be believed, alone or
/// beside the others, count as dropping out; a phase that nobody answers is an invalid_data error. `label` names the
/// algorithm in messages. `update_limit` above 0 refuses updates that are absurdly long, whatever the algorithm
/// (runtime/answer_lengths.h).
[[nodiscard]] Exchanged exchange_phases(Algorithm& algorithm, ClientPool& pool, Round round,
                                        std::vector<ClientId> participants, const std::string& label,
                                        double update_limit = 0);

}  // namespace feroma
