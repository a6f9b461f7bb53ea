#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "feroma/algorithms/registry.h"
#include "feroma/drift/membership.h"
#include "feroma/evaluation/test_scores.h"
#include "feroma/report/record.h"
#include "feroma/runtime/exchange.h"
#include "feroma/runtime/run_totals.h"

namespace feroma {

/// One algorithm on one federation: the round loop and the final evaluation.
class RoundLoop {
 public:
  struct Setup {
    const Federation& federation;
    const AlgorithmPlan& plan;
    ServerContext server;  ///< model, initial parameters, training options
    Workers& workers;
    Rng rng;  ///< the run's root stream; the same for every algorithm, so that they see the same batches
    const std::atomic<bool>& stop;
    std::optional<std::uint64_t> task_order_seed;  ///< tests permute the order in which clients run
    std::optional<Membership> membership = {};     ///< absent: everybody is always there
    AttackOptions attack = {};                     ///< who lies
    Disclosures* disclosures = nullptr;            ///< clients' ledgers; null where profiles are under no budget
  };
  explicit RoundLoop(Setup setup);

  [[nodiscard]] Round rounds() const;
  [[nodiscard]] Round finished_rounds() const { return round_; }
  /// Plays the next round and tells what happened in it.
  [[nodiscard]] RoundRecord play_round();
  /// Serves every test client under every policy.
  [[nodiscard]] ResultRecord evaluate();

  [[nodiscard]] const Algorithm& algorithm() const { return *algorithm_; }
  [[nodiscard]] RunTotals& totals() { return totals_; }
  /// What the clients that are there in the last finished round remember.
  [[nodiscard]] Memories memories() const;
  /// Everything needed to go on after the last finished round, bit for bit.
  [[nodiscard]] Bytes save() const;
  void load(std::span<const std::byte> bytes, const std::string& what);

 private:
  [[nodiscard]] std::vector<ClientId> present(Round round) const;
  [[nodiscard]] std::vector<ClientId> participants(Round round) const;
  /// Those of them who arrived after the first round and take part for the first time.
  [[nodiscard]] std::set<ClientId> newcomers(std::span<const ClientId> participants) const;
  [[nodiscard]] Round data_round(Round round) const;
  /// The true id of what a client has in a round.
  [[nodiscard]] int distribution_of(ClientId client, Round round) const;
  [[nodiscard]] std::optional<double> mixing_auc(const RoundTrace& trace, Round round) const;
  void validate(Round round, const std::map<ClientId, ClientReport>& reports, RoundRecord& record);
  [[nodiscard]] std::optional<double> score_best_round();
  /// Labelled samples per class by which a test client may choose.
  [[nodiscard]] int few_labels() const { return setup_.federation.options().few_labels; }
  /// How each test client tells of its data; null without a budget.
  [[nodiscard]] std::vector<Disclosure*> test_disclosures() const;
  /// One worker serves those test clients that help one another, before each is scored.
  [[nodiscard]] Together together(const Algorithm& algorithm, std::span<const TestPolicy> policies,
                                  const Memories& remembered);
  [[nodiscard]] std::unique_ptr<Algorithm> fresh_algorithm() const;
  /// What clients have spent of their budgets; absent without a guarantee.
  [[nodiscard]] std::optional<double> epsilon() const;
  /// Seconds, bytes and memory of the whole run.
  void describe_costs(ResultRecord& result) const;

  Setup setup_;
  std::unique_ptr<Algorithm> algorithm_;
  SimulatedPool pool_;
  Round round_ = 0;
  RunTotals totals_;
};

}  // namespace feroma
