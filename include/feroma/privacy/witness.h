#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "feroma/core/archive.h"
#include "feroma/privacy/ledger.h"

namespace feroma {

// Whoever counts a client's releases besides its ledger is a witness: what the client remembers, a file beside its
// data, the server. A ledger that is behind one of them was lost, renewed or is an older copy, and a budget would be
// spent twice. One that is ahead is right: it is written first.

/// Where a client's ledger is kept, and the file outside of that folder that counts with it.
struct LedgerPlace {
  LedgerPlace(std::filesystem::path ledger_folder, std::filesystem::path witness_file = {})
      : folder(std::move(ledger_folder)), witness(std::move(witness_file)) {}

  std::filesystem::path folder;
  std::filesystem::path witness;  ///< empty: there is no such file
};

/// Refuses, as invalid_data, a ledger in `folder` that has fewer releases to a federation than `witness` knows of; says
/// how an operator vouches for it.
void require_not_behind(const std::filesystem::path& folder, const ReleaseCounts& ledger, const std::string& witness,
                        const ReleaseCounts& known);

/**
 * A file that counts what was told of some data, by whatever ledger of theirs. It only grows, a line for each release.
 * Nobody else reads or writes it for as long as the object lives: others wait.
 */
class WitnessFile {
 public:
  /// Opens the file or begins it; one that was changed is an invalid_data error. Of one that was cut within a line, or
  /// emptied, a warning says that counts may be gone.
  explicit WitnessFile(const std::filesystem::path& path);
  ~WitnessFile();
  WitnessFile(WitnessFile&&) noexcept;

  /// What is known of the ledger in `folder`: of all that it told, of whatever was told to federation `job`, and of
  /// everything where the ledger begins anew, for a second one would be a second budget.
  [[nodiscard]] ReleaseCounts known(const std::filesystem::path& folder, const std::string& job, bool begins) const;
  /// Adds what the ledger in `folder` has and the file has not; on disk when this returns.
  void note(const std::filesystem::path& folder, const ReleaseCounts& ledger);

 private:
  struct Line {
    std::string job;
    ReleaseCount count;
    std::string ledger;  ///< its folder, whatever links and working folders led to it
  };
  struct Held;

  void read(bool was_there);
  /// Writes the first line alone.
  void begin(bool was_there);
  [[nodiscard]] static Line read_line(std::string_view text, const std::string& where);

  std::filesystem::path path_;
  std::unique_ptr<Held> held_;
  std::vector<Line> lines_;
};

/// A count and several of them as they are kept in other files.
void put(ArchiveWriter& out, const ReleaseCount& count);
[[nodiscard]] ReleaseCount get_release_count(ArchiveReader& in);
void put(ArchiveWriter& out, const ReleaseCounts& counts);
[[nodiscard]] ReleaseCounts get_release_counts(ArchiveReader& in);

}  // namespace feroma
