#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "feroma/core/settings.h"
#include "feroma/report/mixing.h"
#include "feroma/report/record.h"
#include "feroma/report/summary.h"

namespace feroma {

/// Where a round's mixing weights lie; they are read only when they are drawn.
struct MixingFile {
  int round = 0;
  std::vector<std::uint32_t> receivers;
  std::vector<std::uint32_t> sources;
  std::filesystem::path file;
};

/// What happened to one algorithm of a run.
struct AlgorithmRun {
  std::string label;
  std::vector<RoundRecord> rounds;  ///< with their clients
  std::vector<MixingFile> mixing;
  std::filesystem::path folder = {};  ///< of the run
  /// By round, whose profiles are in which row; of rounds that say so, others have the rows of their mixing.
  std::map<int, std::vector<std::uint32_t>> profile_rows = {};

  /// The record of a round, or null.
  [[nodiscard]] const RoundRecord* find(int round) const;
};

/// A run directory as its files tell it.
struct RunData {
  std::string name;        ///< of the folder, or of its setting where runs were joined
  std::string title = {};  ///< of its setting; only where runs were joined
  std::string config_text;
  Settings config;
  std::vector<AlgorithmRun> algorithms;
  std::optional<Summary> summary;  ///< absent while the run is not finished
};

/// Reads a run directory, finished or not: a torn last line is ignored, any other damage is an invalid_data error.
[[nodiscard]] RunData load_run(const std::filesystem::path& folder);

/// The weights of a round, receivers x sources; another shape, or what is no weight, is an invalid_data error.
[[nodiscard]] std::vector<double> read_mixing(const MixingFile& mixing);

}  // namespace feroma
