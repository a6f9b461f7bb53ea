#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace feroma {

/// Who took how much from whom in a round.
struct MixingRecord {
  std::string algorithm;  ///< label of the run
  int round = 0;
  std::vector<std::uint32_t> receivers;
  std::vector<std::uint32_t> sources;
  std::vector<double> weights;  ///< receivers x sources, row by row
};

/// The profiles behind it, one row per receiver.
struct ProfileRecord {
  std::string algorithm;
  int round = 0;
  std::size_t rows = 0;
  std::vector<double> values;                 ///< rows x profile length
  std::vector<std::uint32_t> receivers = {};  ///< whose rows they are; empty: nobody says, and there is no event
};

/// Whether a weight can be of such a row: rows sum to 1 but for what float32 rounds. What is no number cannot.
[[nodiscard]] inline bool is_mixing_weight(double weight) { return weight >= 0 && weight <= 1 + 1e-4; }

}  // namespace feroma
