#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "feroma/core/options.h"
#include "feroma/runtime/experiment.h"

namespace feroma {

/// One run of a sweep: a scenario, an algorithm and a seed.
struct SweepCell {
  std::string key;        ///< the first 16 digits of its hash; names its folder
  std::string hash;       ///< cell_hash of the resolved config
  std::string point;      ///< where in the grid it lies, for people: "mnist-px scenario.level=low"
  Experiment experiment;  ///< with this one algorithm
  std::string config;     ///< resolved, as config.toml has it

  [[nodiscard]] const AlgorithmPlan& algorithm() const { return experiment.algorithms.front(); }
};

/// A sweep file, read and multiplied out: no two cells are the same.
struct Sweep {
  std::string name;
  std::filesystem::path file;
  std::vector<SweepCell> cells;
};

/// What a command line changes in a sweep file.
struct SweepChanges {
  std::vector<std::int64_t> seeds;      ///< in the place of the file's
  std::vector<std::string> algorithms;  ///< labels in the place of the file's; "all" is every one
  std::vector<std::string> overrides;   ///< key=value, in every cell, over whatever the grid says; no scenario.seed
};

/// Reads a sweep file and makes its cells; all mistakes, in it and in the cells, are reported in one invalid_config
/// error.
[[nodiscard]] Sweep read_sweep(const std::filesystem::path& file, const SweepChanges& changes = {});

/// Every key that a sweep file may have; "variant[].name" is the name of any of its [[variant]] tables.
[[nodiscard]] std::vector<OptionInfo> sweep_file_options();

/// The hash of a resolved config, alike for all versions of the program that do the same with it. Where data and
/// ledgers lie is no part of it: a cell is the same in another folder.
[[nodiscard]] std::string cell_hash(const Settings& resolved);

/// The cell of an experiment with one algorithm.
[[nodiscard]] SweepCell make_cell(Experiment experiment, std::string point);

/// A cell in a few words: dataset, shift, level, drifts of rounds, label and seed.
[[nodiscard]] std::string describe(const SweepCell& cell);

}  // namespace feroma
