#pragma once

#include <optional>
#include <string>
#include <vector>

#include "feroma/report/run_set.h"
#include "feroma/report/statistics.h"

namespace feroma {

/// Which model of FedAvg is compared: the last round's, or that of the round with the best validation loss.
enum class FedAvgRound { last, best };

/// Algorithms compared over blocks. A block is a setting with a seed that all of them have, and counts by the mean over
/// such seeds; where all results are of one setting, each seed is a block.
struct Comparison {
  std::vector<std::string> labels;           ///< by mean rank, best first
  bool by_seed = false;                      ///< blocks are the seeds of one setting
  std::optional<FedAvgRound> fedavg_round;   ///< absent without FedAvg
  bool has_concepts = false;                 ///< some of the settings are on P(Y|X)
  std::vector<std::vector<double>> blocks;   ///< blocks x labels
  std::size_t left_out = 0;                  ///< blocks in which one of them is missing
  std::vector<std::string> labels_left_out;  ///< too few blocks have them beside the others
  FriedmanTest friedman;
  double critical_difference = 0;

  /// One algorithm against the reference.
  struct Pair {
    std::string label;
    std::size_t n = 0;           ///< settings and seeds that both have
    double mean_difference = 0;  ///< the reference's accuracy less its own
    std::optional<PairedTest> wilcoxon;
    std::optional<PairedTest> t;
    std::optional<double> adjusted;  ///< Wilcoxon's p after Holm
  };
  std::string reference;
  std::vector<Pair> pairs;  ///< of all algorithms with at least two in common with it, those left out of the ranks too

  /// "36 settings", or "5 seeds" where blocks are seeds.
  [[nodiscard]] std::string count_text(std::size_t count) const;
  /// What does not count, and how the rest does.
  [[nodiscard]] std::vector<std::string> notes() const;
};

/// Compares by `comparable_accuracy`, but FedAvg by the best round where `fedavg` asks for it: beside tables of the
/// paper, which have it so. Absent where there are no two algorithms with two blocks, of which `notes` tells.
/// `reference` is a label, which is never left out, or empty for the one with the best mean rank; an unknown one is an
/// invalid_config error.
[[nodiscard]] std::optional<Comparison> compare(const RunSet& set, const std::vector<OurResult>& results,
                                                const std::string& reference, FedAvgRound fedavg,
                                                std::vector<std::string>& notes);

}  // namespace feroma
