#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/models/archive.h"
#include "feroma/store/blobs.h"
#include "feroma/store/journal.h"

namespace feroma {

/// What a federation was set up to do; it does not change.
struct JobRecord {
  std::string id;      ///< unlike that of any other federation
  std::string config;  ///< the resolved scenario file
  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

/// A round that was begun: who was to take part. A server that is started again asks the same clients.
struct StartedRound {
  Round round = 0;
  std::vector<ClientId> participants;
  friend bool operator==(const StartedRound&, const StartedRound&) = default;
};

/**
 * What a federation must not lose: its job, the round that was begun, and the state after the last finished one. Models
 * are files named after their content, the rest is a journal; a round is finished when its line in the journal is on
 * disk, after everything it names.
 */
class RoundLog {
 public:
  /// Opens the log in `folder`, or begins one with what `make_job` returns.
  RoundLog(const std::filesystem::path& folder, const std::function<JobRecord()>& make_job);

  [[nodiscard]] const JobRecord& job() const { return job_; }
  /// The last finished round; 0 before the first.
  [[nodiscard]] Round committed() const { return committed_; }
  /// The round begun after it; absent where none was.
  [[nodiscard]] const std::optional<StartedRound>& started() const { return started_; }
  /// Bytes of an unfinished line that a crash left behind.
  [[nodiscard]] std::uint64_t cut() const { return journal_.cut(); }

  void start(const StartedRound& round);
  /// Finishes a round with the state that `save` writes; when this returns, the round cannot be lost any more. A model
  /// that is not finite is an invalid_data error, and the round before stays the last.
  void commit(Round round, const std::function<void(ModelWriter&)>& save);
  /// Reads the state of the last finished round; there must be one.
  void load(const std::shared_ptr<const ParamLayout>& layout, const std::function<void(ModelReader&)>& load) const;

 private:
  void replay(std::span<const std::byte> record);

  Journal journal_;
  BlobStore blobs_;
  JobRecord job_;
  Round committed_ = 0;
  std::string state_;                ///< digest
  std::vector<std::string> models_;  ///< digests that the state names
  std::optional<StartedRound> started_;
};

}  // namespace feroma
