#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "feroma/core/ids.h"
#include "feroma/core/rng.h"
#include "feroma/data/dataset.h"
#include "feroma/data/view.h"
#include "feroma/drift/bank_data.h"
#include "feroma/drift/own_data.h"
#include "feroma/drift/schedule.h"
#include "feroma/partition/scenario.h"

namespace feroma {

/// A client's data at one round. Views borrow samples from the federation.
struct ClientShard {
  int window = 0;        ///< stage number: a data version; a change means the data were replaced
  int distribution = 0;  ///< true id 1..B of the newest data, for oracle metrics only; algorithms never see it
  View train;
  View held_out;  ///< the 20 % validation split
};

/// A test client: unlabelled for the method, labelled for scoring.
struct TestShard {
  int distribution = 0;
  View data;
  View few_labels;  ///< labelled samples from outside the client's own share, used only to choose a model
};

/// What samples of a dataset look like to a scenario's clients: tints make gray pictures coloured.
[[nodiscard]] SampleShape seen_shape(SampleShape stored, const ScenarioOptions& options);

/**
 * All data of a scenario: who holds what at which round. Immutable but for the scale of the inputs, which is set before
 * anybody else looks; every other member is a pure function of (scenario, seed, client, round) and safe to call from
 * any thread. Shards are made on demand, so memory does not grow with the number of clients.
 */
class Federation {
 public:
  Federation(std::shared_ptr<const Dataset> dataset, const ScenarioOptions& options);

  /// From now on every view shows its inputs by these; without them they are as they are stored.
  void scale_inputs(InputScales scales);
  /// The client's data in a round, 1..R; the held-out part is empty only where the data are copies of one sample.
  [[nodiscard]] ClientShard shard(ClientId client, Round round) const;
  /// The client's test share and `labels_per_class` labelled samples of each class its distribution has, or as many
  /// as there are outside the share.
  [[nodiscard]] TestShard test(ClientId client, int labels_per_class) const;
  /// Test clients are 0..test_clients()-1; the distributions they are tested on are random, so any n will do.
  [[nodiscard]] std::size_t test_clients() const;
  [[nodiscard]] const Schedule& schedule() const { return *schedule_; }
  [[nodiscard]] const ScenarioOptions& options() const { return options_; }
  [[nodiscard]] SampleShape shape() const { return shape_; }
  [[nodiscard]] const Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] int classes() const { return dataset_->classes; }
  [[nodiscard]] bool multi_label() const { return dataset_->train.multi_label(); }

 private:
  /// Clients move through a bank of distributions, or each keeps one of its own.
  using Data = std::variant<BankData, OwnData>;

  [[nodiscard]] View make_view(const Samples& samples, SampleRows rows) const;

  std::shared_ptr<const Dataset> dataset_;  ///< shared: several runs in one process may use one dataset
  ScenarioOptions options_;
  Rng rng_;                                   ///< never drawn from; streams are derived by purpose
  std::shared_ptr<const Schedule> schedule_;  ///< shared with the data, which follow it
  SampleShape shape_;
  InputScales scales_;
  Data data_;
};

}  // namespace feroma
