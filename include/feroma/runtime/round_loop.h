#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

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
    int test_every = 0;                            ///< rounds from one test to the next; 0: none but the final one
  };
  explicit RoundLoop(Setup setup);

  [[nodiscard]] Round rounds() const;
  [[nodiscard]] Round finished_rounds() const { return round_; }
  /// Plays the next round and tells what happened in it.
  [[nodiscard]] RoundRecord play_round();
  /// Serves every test client under every policy.
  [[nodiscard]] ResultRecord evaluate();
  /// Why rounds are not tested though they were to be; absent where they are, or nobody wants them to be.
  [[nodiscard]] std::optional<std::string> why_untested() const;

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
  /// Every test client served the method's own way.
  struct Natives {
    std::vector<TestScores> scores;  ///< by client
    TestCost together;               ///< of serving them together
  };
  [[nodiscard]] Natives score_natives(const Algorithm& algorithm, const Memories& remembered);
  /// Mean, spread and tail; not a number where some client was served nothing.
  [[nodiscard]] static Spread spread_over(const Natives& natives);
  /// Tests the models after the round that was just played, if it is the turn of one.
  void test_round(RoundRecord& record);
  [[nodiscard]] std::optional<double> score_best_round();
  /// Which test clients have a distribution that nobody has trained on.
  [[nodiscard]] std::vector<bool> strangers() const;
  /// How well the method's own measure tells their samples from the other test clients'; absent where it has none, or
  /// where there are not both kinds.
  [[nodiscard]] std::optional<double> detection_auroc();
  /// Labelled samples per class by which a test client may choose.
  [[nodiscard]] int few_labels() const { return setup_.federation.options().few_labels; }
  /// How each test client tells of its data; null without a budget.
  [[nodiscard]] std::vector<Disclosure*> test_disclosures() const;
  /// One worker serves those test clients that help one another, before each is scored.
  [[nodiscard]] Together together(const Algorithm& algorithm, std::span<const TestPolicy> policies,
                                  const Memories& remembered);
  /// Scores all test clients on all workers: `score(client's place, how, its data)`.
  void for_each_test_client(const Algorithm& algorithm, const Memories& remembered, Together& met, int labels_per_class,
                            const std::function<void(std::size_t, const Scoring&, const TestShard&)>& score);
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
  std::optional<Natives> tested_;  ///< after the last finished round, where it was tested in this process
  bool told_untested_ = false;     ///< that some test client is served nothing
};

}  // namespace feroma
