#pragma once

#include <cstddef>
#include <memory>

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/drift/appearance.h"
#include "feroma/drift/rows.h"
#include "feroma/partition/holdings.h"

namespace feroma {

/// Clients that each have a distribution of their own all the time: who owns what, and what it looks like to them.
class OwnData {
 public:
  OwnData(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options, const Rng& rng);

  [[nodiscard]] SampleRows train(std::size_t client, std::size_t stage) const;
  [[nodiscard]] SampleRows test(std::size_t client) const;
  /// Of the classes that the client's test data have.
  [[nodiscard]] SampleRows few_labels(std::size_t client, int labels_per_class) const;
  /// Refuses a scenario in which a client ends up with nothing.
  void check(std::size_t test_clients) const;

 private:
  std::shared_ptr<const Dataset> dataset_;
  ScenarioOptions options_;
  Rng rng_;  ///< never drawn from
  Holdings holdings_;
  Appearance appearance_;
};

}  // namespace feroma
