#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "feroma/runtime/experiment.h"

namespace feroma {

/// What to do with a run that is already there.
enum class Existing { refuse, resume, overwrite };

/// When a run began and ended, as its manifest has it.
struct RunTimes {
  std::string started;
  std::optional<std::string> ended;  ///< absent: it did not finish
};

/// The times of the run in a folder; absent where there is none. A manifest that cannot be read is an error.
[[nodiscard]] std::optional<RunTimes> run_times(const std::filesystem::path& folder);

/// Why the run in a folder is lost: its manifest is no JSON or its config no TOML, or it has results and lacks one of
/// the two. Absent where it is not, or where there is none; what a later version wrote is not lost, even where this one
/// cannot read it.
[[nodiscard]] std::optional<std::string> damage_of_run(const std::filesystem::path& folder);

/// The name of something in a folder that no run writes; absent where there is nothing of the kind.
[[nodiscard]] std::optional<std::string> foreign_file(const std::filesystem::path& folder);

/// The config of the run in a folder as it was asked for, before the data changed what nobody had written.
[[nodiscard]] Settings config_as_asked(const std::filesystem::path& folder);

/// Refuses a place that can be no run directory: a file, or a folder with something else in it.
void check_run_folder(const std::filesystem::path& folder);
/// And whatever else keeps a run from beginning there: a run that nobody asked to replace, a folder that cannot be
/// written. Writes nothing that stays.
void check_place(const std::filesystem::path& folder, Existing existing);

/**
 * Takes possession of a run directory and writes `config.toml` and `manifest.json`. An existing run is refused,
 * resumed (config, engine and SIMD target must be the same, and methods behave alike) or removed; a folder that is no
 * run is never removed. The lock is held as long as the object lives, so two processes cannot write one run.
 */
class RunDirectory {
 public:
  RunDirectory(std::filesystem::path path, Existing existing, const Experiment& experiment, int threads);
  ~RunDirectory();
  RunDirectory(const RunDirectory&) = delete;
  RunDirectory& operator=(const RunDirectory&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] bool resuming() const { return resuming_; }
  /// Stamps the end time into the manifest: the run is complete.
  void finish();

 private:
  struct Lock;
  void take_lock();
  void write_manifest(const std::string& started, const std::string& ended) const;

  std::filesystem::path path_;
  std::string manifest_;  ///< everything but the times, as JSON
  std::string started_;
  std::unique_ptr<Lock> lock_;
  bool resuming_ = false;
};

}  // namespace feroma
