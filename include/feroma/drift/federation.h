#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/data/view.h"
#include "feroma/drift/schedule.h"
#include "feroma/partition/scenario.h"
#include "feroma/partition/shares.h"

namespace feroma {

/// A client's data at one round. Views borrow from the federation.
struct ClientShard {
  int window = 0;        ///< stage number: a data version; a change means the data were replaced
  int distribution = 0;  ///< true id 1..B, for oracle metrics only; algorithms never see it
  View train;
  View held_out;  ///< the 20 % validation split
};

/// A test client: unlabelled for the method, labelled for scoring.
struct TestShard {
  int distribution = 0;
  View data;
  View few_labels;  ///< labelled samples from outside the client's own share, used only to choose a model
};

/**
 * All data of a scenario: who holds what at which round. Immutable after construction; every member is a pure
 * function of (scenario, seed, client, round) and safe to call from any thread. Shards are made on demand, so
 * memory does not grow with the number of clients.
 */
class Federation {
 public:
  Federation(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options);

  /// The client's data in a round, 1..R; the held-out part is empty only where the data are copies of one sample.
  [[nodiscard]] ClientShard shard(ClientId client, Round round) const;
  /// The client's test share and `labels_per_class` labelled samples of each class its distribution has, or as many
  /// as there are outside the share.
  [[nodiscard]] TestShard test(ClientId client, int labels_per_class) const;
  /// Test clients are 0..test_clients()-1; the distributions they are tested on are random, so any n will do.
  [[nodiscard]] std::size_t test_clients() const;
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] const ScenarioOptions& options() const { return options_; }
  [[nodiscard]] SampleShape shape() const { return shape_; }
  [[nodiscard]] int classes() const { return dataset_->classes; }
  [[nodiscard]] bool multi_label() const { return dataset_->train.multi_label(); }

 private:
  using Sources = std::vector<std::uint32_t>;

  /// P(Y) can leave a small client without any sample of its classes; that is found before the first round.
  void check_every_client_has_data() const;
  /// Rows that `count` samples of a client become over the whole run.
  [[nodiscard]] std::size_t scaled(std::size_t count) const;
  /// The stored samples behind a client's stage; copies are listed as often as they occur.
  [[nodiscard]] Sources stage_sources(std::size_t client, std::size_t stage) const;
  [[nodiscard]] Sources chunk_of_classes(std::span<const std::uint32_t> pool, std::size_t client,
                                         std::size_t stage) const;
  [[nodiscard]] Sources few_label_sources(std::size_t client, std::span<const std::uint32_t> share,
                                          int labels_per_class) const;
  [[nodiscard]] View make_view(const Samples& samples, std::span<const std::uint32_t> sources, int id) const;

  std::shared_ptr<const Dataset> dataset_;  ///< shared: several runs in one process may use one dataset
  ScenarioOptions options_;
  Rng rng_;  ///< never drawn from; streams are derived by purpose
  Schedule schedule_;
  SampleShape shape_;
  std::vector<Recipe> recipes_;  ///< one per distribution
  Shares train_shares_;
  Shares test_shares_;
};

}  // namespace feroma
