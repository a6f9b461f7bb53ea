#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "feroma/core/files.h"
#include "feroma/privacy/accountant.h"

namespace feroma {

/// What was asked of a client's data. Asking again gives the same bytes: fresh noise could be averaged away.
struct ReleaseKey {
  std::string kind;          ///< "profile", "bounds", ...
  std::string job;           ///< the run it is for
  std::int64_t version = 0;  ///< of the data: a new file or window, never a look into them
  std::int64_t epoch = 0;    ///< of projector and bounds
  friend bool operator==(const ReleaseKey&, const ReleaseKey&) = default;
};

/// What one release costs: rho, and epsilon too where it is pure.
struct ReleaseCost {
  double rho = 0;
  std::optional<double> epsilon;
};

struct PrivacyBudget {
  double epsilon = 5;
  double delta = 1e-5;  ///< 0: releases are pure, and their epsilons add up
  int releases = 20;
  /// No record outlives a data version, so that versions do not add up. The software cannot check it.
  bool versions_disjoint = false;
  Calibration calibration = Calibration::zcdp;
};

/// How often a client told one federation of its data, and what that cost; none of it ever decreases.
struct ReleaseCount {
  std::uint64_t releases = 0;
  double rho = 0;
  std::optional<double> epsilon = {};  ///< where every release is pure
  friend bool operator==(const ReleaseCount&, const ReleaseCount&) = default;
};
/// The same of several, by the federation's id.
using ReleaseCounts = std::map<std::string, ReleaseCount>;

/// The kind of a line by which an operator answers for releases that the ledger has not seen: `version` is how many
/// there are to that federation in all, `epoch` the time in seconds of 1970, the cost what they have spent of the
/// budget, and the released bytes are the operator's reason.
inline constexpr std::string_view kVouched = "vouched";

struct LedgerLine {
  std::uint64_t sequence = 0;
  ReleaseKey key;
  ReleaseCost cost;
  std::string digest;  ///< SHA-256 of the released bytes
  double total_rho = 0;

  [[nodiscard]] bool is_vouched() const { return key.kind == kVouched; }
};

struct PrivacySpent {
  int releases = 0;
  double rho = 0;
  double epsilon = 0;  ///< at the budget's delta; the plain sum where all is pure and that is less, or delta is 0
};

/// What the lines of a ledger add up to.
[[nodiscard]] PrivacySpent spent_by(const std::vector<LedgerLine>& lines, const PrivacyBudget& budget);
/// How often each federation was told, as the lines of a ledger have it.
[[nodiscard]] ReleaseCounts counts_of(const std::vector<LedgerLine>& lines);

/**
 * A client's record of what it told of its data, and the bytes it told. Nothing leaves before its line and its bytes
 * are on disk; a crash in between wastes budget, never privacy. A ledger that was cut, changed or lost while released
 * bytes are there is refused: an io or invalid_data error names the file and the line.
 */
class Ledger {
 public:
  /// Opens the ledger in `folder`, or begins one there. Only one process may hold it.
  Ledger(std::filesystem::path folder, const PrivacyBudget& budget);
  ~Ledger();
  Ledger(Ledger&&) noexcept;

  /// The bytes for `key`: those of the first time, or what `make` returns, once it is safe to send them. Nothing where
  /// the budget does not cover it.
  [[nodiscard]] std::optional<Bytes> release(const ReleaseKey& key, const ReleaseCost& cost,
                                             const std::function<Bytes()>& make);
  /// Writes down an operator's word that there are `releases` to federation `job` in all, that those which the ledger
  /// has not seen cost so much (a rho of 0: that they were none of these data), and why.
  void vouch(const std::string& job, std::uint64_t releases, const ReleaseCost& cost, std::string_view reason);
  [[nodiscard]] PrivacySpent spent() const { return spent_by(lines_, budget_); }
  [[nodiscard]] const std::vector<LedgerLine>& lines() const { return lines_; }

 private:
  struct Held;

  [[nodiscard]] bool covers(const ReleaseKey& key, const ReleaseCost& cost) const;
  /// Writes a line, then its bytes.
  void append(const ReleaseKey& key, const ReleaseCost& cost, std::span<const std::byte> bytes);

  std::filesystem::path folder_;
  PrivacyBudget budget_;
  std::unique_ptr<Held> held_;
  std::vector<LedgerLine> lines_;
  std::string last_check_;
};

/// Where the bytes of a line are kept.
[[nodiscard]] std::filesystem::path released_path(const std::filesystem::path& folder, std::uint64_t sequence);

/// Reads a ledger without holding it and checks every line and every released file.
[[nodiscard]] std::vector<LedgerLine> audit_ledger(const std::filesystem::path& folder);

}  // namespace feroma
