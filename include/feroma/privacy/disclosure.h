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
  /// `job` names the run in the ledger, which is in `folder`; the budget is that of the options. `version` is that of
  /// the data of a client which does not train.
  Disclosure(const PrivacyOptions& options, std::filesystem::path folder, std::string job,
             EntropyFor entropy = system_entropy(), std::int64_t version = 0);

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
  [[nodiscard]] const PrivacyOptions& options() const { return options_; }

 private:
  template <class Make>
  [[nodiscard]] std::optional<std::vector<std::int64_t>> tell(const ReleaseKey& key, const ReleaseCost& cost,
                                                              std::size_t size, Make&& make);

  PrivacyOptions options_;
  std::filesystem::path folder_;
  std::string job_;
  EntropyFor entropy_;
  std::int64_t version_;
  ReleasePlan plan_;
  ReleasePlan test_plan_;  ///< of releases without labels
  PrivacySpent spent_;
};

}  // namespace feroma
