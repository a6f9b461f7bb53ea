#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/drift/rows.h"
#include "feroma/drift/schedule.h"
#include "feroma/partition/holdings.h"

namespace feroma {

/// Clients that move through a bank of distributions with equal shares of the dataset. Made on demand, pure.
class BankData {
 public:
  BankData(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options,
           std::shared_ptr<const Schedule> schedule, const Rng& rng);

  /// A client's training data at a stage; with those of all earlier stages where data accumulate.
  [[nodiscard]] SampleRows train(std::size_t client, std::size_t stage) const;
  [[nodiscard]] SampleRows test(std::size_t client) const;
  [[nodiscard]] SampleRows few_labels(std::size_t client, int labels_per_class) const;
  /// A small client may be without any sample of its classes or domains; that is found before the first round.
  void check(std::size_t test_clients) const;

 private:
  using Sources = std::vector<std::uint32_t>;

  /// Rows that `count` samples of a client become over the whole run.
  [[nodiscard]] std::size_t scaled(std::size_t count) const;
  /// The stored samples behind a client's stage; copies are listed as often as they occur.
  [[nodiscard]] Sources stage_sources(std::size_t client, std::size_t stage) const;
  [[nodiscard]] Sources chunk_of_classes(std::span<const std::uint32_t> pool, std::size_t client,
                                         std::size_t stage) const;
  [[nodiscard]] Sources domain_sample(std::span<const std::uint32_t> pool, std::size_t client, std::size_t stage) const;
  /// The samples of a strict client's classes, repeated until they are as many as all classes were.
  [[nodiscard]] Sources refilled(std::span<const std::uint32_t> kept, int id, const Rng& rng) const;
  [[nodiscard]] Recipe fresh_recipe(int id) const;
  [[nodiscard]] SampleRows rows_of(std::span<const std::uint32_t> sources, int id) const;

  std::shared_ptr<const Dataset> dataset_;
  ScenarioOptions options_;
  std::shared_ptr<const Schedule> schedule_;
  Rng rng_;  ///< never drawn from; streams are derived by purpose
  Holdings holdings_;
  std::shared_ptr<const std::vector<Recipe>> recipes_;  ///< one per listed distribution; shared with all views
};

}  // namespace feroma
