#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "feroma/privacy/clip_bounds.h"
#include "feroma/privacy/entropy_source.h"
#include "feroma/privacy/ledger.h"
#include "feroma/privacy/options.h"
#include "feroma/privacy/witness.h"

namespace feroma {

/// Where the noise of a release comes from.
using EntropyFor = std::function<std::unique_ptr<EntropySource>(const ReleaseKey& key)>;
/// The operating system's generator, for every release.
[[nodiscard]] EntropyFor system_entropy();

/**
 * The one way in which a client tells of its records under a budget. What is told is noisy, stands in the client's
 * ledger before it leaves, and is the same whenever it is asked again. One per client; not shared between threads.
 */
class Disclosure {
 public:
  /// `job` names the run in the ledger, which is in `place`; the budget is that of the options. `version` is that of
  /// the data of a client which does not train. A ledger that is behind the file beside it is refused, now and before
  /// anything is told; one that is ahead brings the file up.
  Disclosure(const PrivacyOptions& options, LedgerPlace place, std::string job, EntropyFor entropy = system_entropy(),
             std::int64_t version = 0);

  /// Refuses a ledger that is behind another witness. What is missing is said to have cost no less than by the plan: a
  /// server must not talk an operator into believing that it was cheap.
  void hold_to(const std::string& witness, const ReleaseCounts& known) const;

  /// A profile's sums with noise, for one version of the data and one epoch of the bounds; nothing once the budget is
  /// spent. Sums of one class alone are those of unlabelled data, and a release of their own.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> profile(std::int64_t version, std::int64_t epoch,
                                                                 const SumShape& shape,
                                                                 std::span<const std::int64_t> sums);
  /// The same of a client that does not train, for the version of its data that this was made for.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> unlabelled(std::int64_t epoch, const SumShape& shape,
                                                                    std::span<const std::int64_t> sums) {
    return profile(version_, epoch, shape, sums);
  }
  /// The histogram of norms with noise.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> norms(std::int64_t version, const NormHistogram& histogram);

  /// As the ledger has it.
  [[nodiscard]] const PrivacySpent& spent() const { return spent_; }
  [[nodiscard]] const ReleaseCounts& counts() const { return counts_; }
  [[nodiscard]] const std::string& job() const { return job_; }
  [[nodiscard]] const PrivacyOptions& options() const { return options_; }

 private:
  template <class Make>
  [[nodiscard]] std::optional<std::vector<std::int64_t>> tell(const ReleaseKey& key, const ReleaseCost& cost,
                                                              std::size_t size, Make&& make);
  [[nodiscard]] std::optional<Bytes> bytes_for(const ReleaseKey& key, const ReleaseCost& cost,
                                               const std::function<Bytes()>& make);
  /// The file beside the ledger, if there is one, while nobody else has it.
  [[nodiscard]] std::optional<WitnessFile> open_witness() const;
  /// Refuses what is behind the file, or behind what it was before.
  void check(const Ledger* ledger, const std::optional<WitnessFile>& witness) const;
  /// What the ledger has become.
  void remember(const Ledger& ledger, std::optional<WitnessFile>& witness);

  PrivacyOptions options_;
  LedgerPlace place_;
  std::string job_;
  EntropyFor entropy_;
  std::int64_t version_;
  ReleasePlan plan_;
  ReleasePlan test_plan_;  ///< of releases without labels
  PrivacySpent spent_;
  ReleaseCounts counts_;
};

}  // namespace feroma
