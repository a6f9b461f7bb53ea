#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "feroma/core/grown_file.h"
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
 * disk, after everything it names. A file of its own, `finished`, says which round that was, so that a journal which
 * lost its end is told from one that never had it. Files of others that grow with the rounds (what people read) are
 * held to what they were when the last one was finished. Nothing that a folder holds is deleted before the next round
 * is finished; one that does not fit together is refused, by an invalid_data error that names the file and the way
 * back.
 */
class RoundLog {
 public:
  /// Opens the log in `folder`, or begins one with what `make_job` returns where nothing is there that could be lost.
  RoundLog(const std::filesystem::path& folder, const std::function<JobRecord()>& make_job);
  /// Only reads the log: nothing is written or held, and nothing can be added. The job has no id where none was begun.
  explicit RoundLog(const std::filesystem::path& folder);
  /// Whether another process holds the log in `folder`.
  [[nodiscard]] static bool is_held(const std::filesystem::path& folder);
  /// Lets the log in `folder` go on after the last finished round: takes a journal's damaged end from it, and begins
  /// files anew that are not what they grew from. Returns what became of what was there, a sentence for each file; none
  /// where nothing is damaged. Refused, and nothing is changed, where that round is not whole.
  static std::vector<std::string> set_damage_aside(const std::filesystem::path& folder);

  [[nodiscard]] const JobRecord& job() const { return job_; }
  /// The last finished round; 0 before the first.
  [[nodiscard]] Round committed() const { return committed_; }
  /// The round begun after it; absent where none was.
  [[nodiscard]] const std::optional<StartedRound>& started() const { return started_; }
  /// Factors and offsets of the inputs, as they were fixed before the first round; empty where they were not.
  [[nodiscard]] const std::vector<float>& input_scale() const { return input_scale_; }
  /// What was found that is not as it should be, but costs nothing that was finished; one sentence each.
  [[nodiscard]] const std::vector<std::string>& remarks() const { return remarks_; }

  /// Files beside the journal as they were when the last round was finished; none where an earlier version finished it.
  [[nodiscard]] const GrownFiles& grown() const { return grown_; }

  /// Small facts that belong to no round, by name; each is as it was noted last.
  [[nodiscard]] const std::map<std::string, Bytes>& notes() const { return notes_; }
  /// From any thread; when this returns, the fact cannot be lost any more.
  void note(const std::string& name, Bytes fact);

  /// Fixes the scale of the inputs, once and for all.
  void fix(std::vector<float> input_scale);
  void start(const StartedRound& round);
  /// Finishes a round with the state that `save` writes; when this returns, the round cannot be lost any more. A model
  /// that is not finite is an invalid_data error, and the round before stays the last. `grown` are files beside the
  /// journal, which are on disk.
  void commit(Round round, const std::function<void(ModelWriter&)>& save, GrownFiles grown = {});
  /// Reads the state of the last finished round; there must be one.
  void load(const std::shared_ptr<const ParamLayout>& layout, const std::function<void(ModelReader&)>& load) const;

 private:
  enum class Witness { absent, damaged, whole };  ///< how the file `finished` is

  struct Unread {};
  RoundLog(const std::filesystem::path& folder, Unread);
  [[nodiscard]] std::filesystem::path journal_file() const { return folder_ / "journal"; }
  [[nodiscard]] std::filesystem::path witness_file() const { return folder_ / "finished"; }
  /// Refuses a folder in which a journal was: it lost everything, so nothing may be begun there.
  void require_nothing_to_lose() const;
  enum class Kind : std::uint8_t { job = 1, started = 2, commit = 3, note = 4, scale = 5, grown = 6 };
  /// From any thread.
  void append(Kind kind, const std::function<void(ArchiveWriter&)>& write);
  /// Takes what a journal holds, and holds it against the rest of the folder.
  void adopt(const JournalContent& content);
  void replay(std::span<const std::byte> record, const std::string& name);
  void read_witness();
  void write_witness() const;
  /// Refuses a last round of which a file is missing.
  void require_models() const;
  /// Refuses a file that is not what it grew from.
  void require_grown() const;
  /// How to go on where the journal's end is damaged.
  [[nodiscard]] std::string way_back() const;
  [[nodiscard]] std::set<std::string> named() const;

  std::filesystem::path folder_;
  std::mutex appending_;
  std::optional<Journal> journal_;
  BlobStore blobs_;
  std::vector<std::string> remarks_;
  JobRecord job_;
  Round committed_ = 0;
  std::string state_;                ///< digest
  std::vector<std::string> models_;  ///< digests that the state names
  GrownFiles grown_;
  std::optional<StartedRound> started_;
  Witness witness_ = Witness::absent;
  std::string witness_job_;
  Round witness_round_ = 0;
  std::string witness_state_;
  bool witness_met_ = false;  ///< the journal finishes that round with that state
  std::map<std::string, Bytes> notes_;
  std::vector<float> input_scale_;
};

}  // namespace feroma
