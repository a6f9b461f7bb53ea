#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/posix_file.h"
#include "feroma/privacy/ledger.h"
#include "feroma/runtime/client_step.h"

namespace feroma::net {

/// A step that was taken in a round which is not finished yet: the server may ask for it again.
struct TakenStep {
  Round round = 0;
  int phase = 0;
  std::string task;    ///< digest of what was asked
  Bytes answer;        ///< as it was sent; empty where the step failed
  std::string failed;  ///< why
  ClientReport report;
  ClientMemory after;

  [[nodiscard]] bool failed_to_answer() const { return answer.empty(); }
};

/// How far a client's answers went into a round.
struct Counted {
  Round round = 0;
  int phases = 0;  ///< the first ones
};

/// Keeps other clients out of a state folder for as long as the result lives; an invalid_config error where one is in.
/// To be held before the server is greeted, which would take the second for the first come again.
[[nodiscard]] detail::PosixFile hold_state_folder(const std::filesystem::path& folder);

/**
 * What a client must not lose: for which federation it works, what it remembers, and its answers of the round that is
 * not finished. A step that is asked for again is answered with the same bytes; one that is asked anew begins with what
 * the client remembered before it.
 */
class ClientState {
 public:
  /// Opens the state in `folder`, which is held, or begins one.
  ClientState(const std::filesystem::path& folder, std::shared_ptr<const ParamLayout> layout, const std::string& job,
              ClientId id);
  /// What a folder's state says of its client; the defaults are a newcomer's.
  struct Summary {
    std::string job;         ///< the federation that it works for
    Round committed = 0;     ///< the last round it saw finished
    bool remembers = false;  ///< whether it has anything of what it was sent
  };
  [[nodiscard]] static Summary peek(const std::filesystem::path& folder);

  [[nodiscard]] Round committed() const { return committed_; }
  /// The step that answers this task; null where it has not been taken, or failed: what was wrong may be over.
  [[nodiscard]] const TakenStep* find(Round round, int phase, const std::string& task) const;
  /// What the client remembers as it enters a step.
  [[nodiscard]] ClientMemory before(Round round, int phase) const;
  /// Keeps a step that gave an answer in place of those of the same or a later phase; when this returns it survives a
  /// crash.
  void keep(TakenStep step);
  /// How often the client had released something when it looked last, by federation: a witness of its ledger. Kept only
  /// where it has changed.
  [[nodiscard]] const ReleaseCounts& releases() const { return releases_; }
  void count(const ReleaseCounts& releases);
  /// The server finished all rounds up to this one. What the client did in phases that counted is what it remembers
  /// from now on, and the rest of what it did is as if it had never been.
  void commit(Round round, Counted counted);

 private:
  void write() const;

  std::filesystem::path file_;
  std::shared_ptr<const ParamLayout> layout_;
  std::string job_;
  ClientId id_;
  Round committed_ = 0;
  ClientMemory base_;
  std::vector<TakenStep> steps_;
  ReleaseCounts releases_;
};

}  // namespace feroma::net
