#pragma once

#include "feroma/runtime/disclosures.h"
#include "tests/algorithms/toy_run.h"
#include "tests/core/temp_folder.h"

namespace feroma::test {

inline PrivacyOptions gaussian_budget(int releases = 20) {
  PrivacyOptions privacy;
  privacy.mode = PrivacyMode::gaussian;
  privacy.epsilon_total = 5000;  // a toy client has about sixty records
  privacy.max_releases = releases;
  return privacy;
}

/// A toy run whose clients have ledgers.
class PrivateRun : public ToyRun {
 public:
  explicit PrivateRun(const PrivacyOptions& privacy, ScenarioOptions scenario = toy_scenario(), int threads = 1)
      : ToyRun(std::move(scenario), threads), privacy_(privacy) {}

  /// As ToyRun's; loops that are given one `ledgers` name share their clients' ledgers, those of one job what was told.
  RoundLoop private_loop(const std::string& algorithm, const std::string& ledgers = "ledgers",
                         const std::string& job = "feroma") {
    disclosures_.push_back(
        std::make_unique<Disclosures>(privacy_, folder_.path() / ledgers, job, Rng(static_cast<std::uint64_t>(7))));
    RoundLoop::Setup setup = this->setup(algorithm);
    setup.server.privacy = privacy_;
    setup.disclosures = privacy_.guarded() ? disclosures_.back().get() : nullptr;
    return RoundLoop(std::move(setup));
  }

 private:
  PrivacyOptions privacy_;
  test::TempFolder folder_;
  std::vector<std::unique_ptr<Disclosures>> disclosures_;
};

}  // namespace feroma::test
