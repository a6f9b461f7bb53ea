#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "feroma/report/record.h"
#include "feroma/runtime/run_directory.h"
#include "feroma/sweep/cells.h"

namespace feroma {

enum class CellState {
  pending,      ///< nothing is there
  interrupted,  ///< a run that did not finish; it can go on
  failed,       ///< it ended with an error, which is kept
  done,         ///< it has its result, which may be that its algorithm is not applicable
};
constexpr auto enum_names(CellState) {
  using enum CellState;
  return std::array<std::pair<CellState, std::string_view>, 4>{
      {{pending, "pending"}, {interrupted, "interrupted"}, {failed, "failed"}, {done, "done"}}};
}

/// What a sweep's folder holds of one cell, whoever asked for it.
struct CellRecord {
  std::string key;
  CellState state = CellState::pending;
  std::string reason = {};  ///< why it failed
  Settings config = {};     ///< resolved
  RunTimes times = {};
  std::optional<ResultRecord> result = {};  ///< of a finished cell
  std::string hash = {};                    ///< cell_hash of the config, as read; empty where there is none of the key
};

/// Why the algorithm of a finished cell has no meaning there; empty where it has one, or where there is no result yet.
[[nodiscard]] std::string why_not_applicable(const std::optional<ResultRecord>& result);

/// Where a cell's run directory lies in a sweep's folder.
[[nodiscard]] std::filesystem::path cell_folder(const std::filesystem::path& out, const std::string& key);
/// What is there of a cell; looks only.
[[nodiscard]] CellRecord read_cell(const std::filesystem::path& out, const std::string& key);
/// The same; a damaged cell has failed, and the damage is the reason: it is tried again like any other that failed.
/// That another cell with the same key is there is an invalid_config error.
[[nodiscard]] CellRecord look_at_cell(const std::filesystem::path& out, const SweepCell& cell);
/// The sweep with the cells that the folder has finished on a machine with another instruction set: where a config
/// leaves the set to the machine, one that gives the same bits is as good as its own. What is done here stays as it is.
[[nodiscard]] Sweep with_finished_elsewhere(Sweep sweep, const std::filesystem::path& out);
/// Every cell in the folder, by key. What is no cell, or not the one that its name says, is left out with a warning.
[[nodiscard]] std::vector<CellRecord> read_cells(const std::filesystem::path& out);

/// Which cells a sweep asked for, in all its calls: its name, and the keys with their places in the grid.
struct SweepList {
  std::string name;
  std::map<std::string, std::string> points;
};
/// The lists of all sweeps that used the folder, by name. A damaged one is left out with a warning.
[[nodiscard]] std::vector<SweepList> read_sweep_lists(const std::filesystem::path& out);

/// Refuses a place that can be no sweep's folder: a file, or a folder with something else in it.
void check_sweep_folder(const std::filesystem::path& out);

/**
 * Takes possession of a sweep's folder: `cells/` with a run directory for each cell and a note for each that failed,
 * `sweeps/` with the list of every sweep that was run in it. The lock is held as long as the object lives; a second
 * sweep in the folder, or a folder with anything else in it, is refused.
 */
class SweepFolder {
 public:
  explicit SweepFolder(std::filesystem::path path);
  ~SweepFolder();
  SweepFolder(const SweepFolder&) = delete;
  SweepFolder& operator=(const SweepFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Writes down which cells the sweep has, beside those of its earlier calls. A damaged list of these is begun again
  /// with a warning.
  void remember(const Sweep& sweep) const;
  /// Keeps the reason of a failure, with the config that failed.
  void note_failure(const SweepCell& cell, const std::string& reason) const;
  void forget_failure(const std::string& key) const;

 private:
  struct Lock;

  std::filesystem::path path_;
  std::unique_ptr<Lock> lock_;
};

}  // namespace feroma
