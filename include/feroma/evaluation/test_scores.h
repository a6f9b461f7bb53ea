#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/drift/federation.h"
#include "feroma/evaluation/test_cost.h"
#include "feroma/evaluation/together.h"

namespace feroma {

/// Accuracies of one test client under every policy, in percent; absent where the method does not serve the policy.
struct TestScores {
  std::optional<double> native;
  std::optional<double> expectation;
  std::optional<double> known;
  std::optional<double> personal;
  std::optional<double> few_label;
  std::optional<double> nearest;
  TestCost native_cost;         ///< but for what was done for all clients together
  std::optional<bool> matched;  ///< the native policy's largest source had the client's distribution
};

/// True distribution id of the data a model was trained on; oracle knowledge for scoring only.
using TrueDistribution = std::function<int(const ModelSource&)>;

/// What a test client is scored with. Clients that are served together find their predictors in `together`; the others
/// need none. `disclosure` is how the client tells of its data, null without a budget.
struct Scoring {
  const Algorithm& algorithm;
  Trainer& trainer;
  Rng rng;
  const Memories& memories;
  TrueDistribution true_distribution;
  StageSeconds& seconds;
  Together* together = nullptr;
  Disclosure* disclosure = nullptr;
};
/// The method's own way alone: `native` and what goes with it.
[[nodiscard]] TestScores score_natively(const Scoring& scoring, const TestShard& shard, ClientId client);
/// All other policies beside it.
void score_other_policies(const Scoring& scoring, const TestShard& shard, ClientId client, TestScores& scores);

/// What the method would serve training client `client` now, scored on `view`; absent if it would serve nothing.
[[nodiscard]] std::optional<Tally> score_own(const Algorithm& algorithm, ClientId client, const View& view,
                                             Trainer& trainer, const Rng& rng, const Memories& memories,
                                             StageSeconds& seconds);

/// Mean, spread and tail over test clients.
struct Spread {
  double mean = 0;
  double std = 0;      ///< population
  double worst10 = 0;  ///< mean of the worst tenth, at least one client
};
[[nodiscard]] Spread spread_of(std::span<const double> values);

}  // namespace feroma
