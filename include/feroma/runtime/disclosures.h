#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <utility>

#include "feroma/core/ids.h"
#include "feroma/core/rng.h"
#include "feroma/privacy/disclosure.h"

namespace feroma {

/// The ledgers of a simulation's clients, one folder each. Training clients and test clients are different people.
class Disclosures {
 public:
  /// Ledgers are in the place's folder, and so many files that count with them in its witness, where that is a folder;
  /// `job` says for what they are asked, all of it: what was told for another run is never taken for this one's. `rng`
  /// feeds seeded noise.
  Disclosures(const PrivacyOptions& options, LedgerPlace place, std::string job, const Rng& rng);

  /// The client's own; made when first asked for, so not by several threads at once.
  [[nodiscard]] Disclosure& training(ClientId client) { return of("client", client); }
  [[nodiscard]] Disclosure& testing(ClientId client) { return of("test", client); }

  /// The most that any client has spent of those that were asked for.
  [[nodiscard]] double epsilon() const;

  /// How often each client told of its data, of those that were asked for, by the name of its ledger's folder.
  using Counts = std::map<std::string, ReleaseCounts>;
  [[nodiscard]] Counts counts() const;
  /// Refuses ledgers that are behind what a witness knows of them.
  void hold_to(const std::string& witness, const Counts& known);

 private:
  [[nodiscard]] Disclosure& of(std::string_view kind, ClientId client);

  PrivacyOptions options_;
  LedgerPlace place_;
  std::string job_;
  Rng rng_;
  std::map<std::pair<std::string, ClientId>, Disclosure> clients_;
};

}  // namespace feroma
