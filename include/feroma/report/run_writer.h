#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "feroma/core/grown_file.h"
#include "feroma/core/settings.h"
#include "feroma/report/mixing.h"
#include "feroma/report/record.h"

namespace feroma {

/// How far the growing files of a run go; a checkpoint keeps this, so that a resumed run can cut what came after it.
struct RunFileSizes {
  std::uint64_t metrics = 0;
  std::uint64_t clients = 0;
  std::uint64_t events = 0;
  friend bool operator==(const RunFileSizes&, const RunFileSizes&) = default;
};

/// Refuses a folder in which one of these files is missing or shorter, and says how to go on all the same.
void check_run_files(const std::filesystem::path& folder, const RunFileSizes& sizes);

/// What is wrong with files of mixing/ and profiles/, by the SHA-256 that the first bytes of events.jsonl, so many,
/// have of them: the first one, and how many others; empty where they are as they were written, and of events without
/// one.
[[nodiscard]] std::string damage_of_arrays(const std::filesystem::path& folder, std::uint64_t events);

/**
 * Writes metrics.csv, clients.csv, events.jsonl, mixing/ and profiles/ of a run directory. Lines are buffered until
 * `flush_and_sizes`; what was not flushed belongs to no committed round and is lost with the process.
 * Owned by one thread.
 */
class RunWriter {
 public:
  enum class Mode {
    create,  ///< start the files anew
    resume,  ///< go on with existing files; call truncate_to next
  };

  RunWriter(const std::filesystem::path& folder, Mode mode);
  RunWriter(RunWriter&&) noexcept;
  ~RunWriter();

  void run_started(const Settings& config);
  /// `round` is the last one of `algorithm` that is kept.
  void run_resumed(const std::string& algorithm, int round);
  /// One line of metrics.csv, one of clients.csv per client, one event, one for each client that dropped out, and one
  /// with what else is known of the clients.
  void round_finished(const RoundRecord& record);
  /// mixing/<algorithm>-<round>.npy (float32, receivers x sources) and one event.
  void mixing(const MixingRecord& record);
  /// profiles/<algorithm>-<round>.npy (float32, receivers x profile length) and one event.
  void profiles(const ProfileRecord& record);
  void algorithm_finished(const ResultRecord& record);
  void run_finished(double seconds);

  /// Brings every line to the disk and tells how long the files are now.
  RunFileSizes flush_and_sizes();
  /// The growing files as they are after it, by name.
  [[nodiscard]] GrownFiles grown() const;
  /// Cuts the files to what a checkpoint knows; a file that is shorter is an invalid_data error. One of which nothing
  /// is left begins anew.
  void truncate_to(const RunFileSizes& sizes);

 private:
  struct Files;
  std::filesystem::path folder_;
  std::unique_ptr<Files> files_;
};

}  // namespace feroma
