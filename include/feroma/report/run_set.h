#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/settings.h"
#include "feroma/report/summary.h"

namespace feroma {

/// A run directory by its resolved config and, once it is finished, its results.
struct RunEntry {
  std::filesystem::path folder;
  Settings config;
  Settings asked;  ///< the same without what defaults that could not work gave way to: by it runs are compared
  std::optional<Summary> summary;
};

/// Requirement R1 as a `requirements.json` has it.
struct RequirementOne {
  std::filesystem::path file;
  std::map<std::string, double> values;
  std::string differs;  ///< in what it is not the paper's; empty where it is
};

/// The runs that a report is about, in the order of their paths.
struct RunSet {
  std::vector<RunEntry> runs;
  std::vector<std::string> damaged;  ///< what could not be read and why; only with `keep_going`
  std::vector<std::string> notes;    ///< what else is missing
  /// Of several measurements the first that is as the paper's; the first where none is.
  std::optional<RequirementOne> requirement;
};

/// Levels of folders below those given in which run directories are looked for.
inline constexpr int kRunDepth = 3;

/**
 * Finds run directories, and `requirements.json` as `feroma bench --requirements --format json` prints it, in
 * `folders` and up to kRunDepth levels below them; a sweep's `results.db` stands for the folder it lies in. A folder
 * that does not exist or holds no run is an invalid_config error, a damaged file an invalid_data error that names it,
 * or with `keep_going` a line of `damaged`. With `sweep` only the cells of the sweep of this name are read, as the
 * folder it ran in lists them; where no folder knows it, that is an invalid_config error that names those there are.
 */
[[nodiscard]] RunSet find_runs(std::span<const std::filesystem::path> folders, bool keep_going,
                               const std::string& sweep = "");

/// One algorithm's result in one run.
struct OurResult {
  std::size_t run = 0;  ///< place in RunSet::runs
  std::string setting;  ///< equal for runs that differ in nothing but seed, algorithms and machine
  std::string label;    ///< as in the run; with what differs behind it where one label stands for several configs
  Settings algorithm;   ///< its own keys, without "algorithm.N."
  ResultRecord result;
  std::set<std::string> altered = {};  ///< keys in which it differs from its preset, as most runs of that name have it
};

/// Every result of the finished runs; of the same config and seed only the first. `notes` tells of the others.
[[nodiscard]] std::vector<OurResult> results_of(const RunSet& set, std::vector<std::string>& notes);

/// A value without the quotes of a string.
[[nodiscard]] std::string plain_text(const SettingValue& value);

/// By what results are compared: on P(Y|X) nobody can tell concepts apart without labels, so there it is the accuracy
/// with few labels, else with known association; elsewhere that of the method's own way of serving.
[[nodiscard]] double comparable_accuracy(const RunEntry& run, const ResultRecord& result);

}  // namespace feroma
