#pragma once

#include <filesystem>
#include <vector>

#include "feroma/core/archive.h"
#include "feroma/report/record.h"
#include "feroma/report/run_writer.h"
#include "feroma/runtime/disclosures.h"

namespace feroma {

/// The state of a whole run after its last finished round.
struct RunCheckpoint {
  std::vector<ResultRecord> results;  ///< of the algorithms that are done
  RunFileSizes sizes;                 ///< how long the growing files were
  Bytes loop;                         ///< the running algorithm's RoundLoop; empty between algorithms
  RoundRecord last_round;             ///< its last finished round, for the model store
  Disclosures::Counts releases;       ///< of the running algorithm's clients; a witness of their ledgers
  std::vector<float> input_scale;     ///< factors and offsets; empty where inputs are as they are
};

/// One atomic commit: a reader sees the previous state or this one.
void write_run_checkpoint(const std::filesystem::path& path, const RunCheckpoint& checkpoint);
[[nodiscard]] RunCheckpoint read_run_checkpoint(const std::filesystem::path& path);

}  // namespace feroma
