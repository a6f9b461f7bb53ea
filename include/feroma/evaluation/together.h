#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "feroma/algorithms/algorithm.h"
#include "feroma/drift/federation.h"
#include "feroma/evaluation/test_cost.h"

namespace feroma {

inline constexpr std::array<TestPolicy, 6> kTestPolicies{
    TestPolicy::native,           TestPolicy::cluster_expectation, TestPolicy::known_association,
    TestPolicy::personal_uniform, TestPolicy::nearest_signature,   TestPolicy::few_label};

/// Predictors that were made for all test clients at once, by policy.
class Together {
 public:
  void put(TestPolicy policy, std::vector<std::unique_ptr<Predictor>> predictors, const TestCost& cost);
  /// The client's predictor, which it gives away; null where the client is served on its own. Safe to call for
  /// different clients from different threads.
  [[nodiscard]] std::unique_ptr<Predictor> take(TestPolicy policy, ClientId client);
  [[nodiscard]] bool empty() const { return predictors_.empty(); }
  /// What making the predictors cost all clients.
  [[nodiscard]] TestCost cost(TestPolicy policy) const;

 private:
  std::map<TestPolicy, std::vector<std::unique_ptr<Predictor>>> predictors_;
  std::map<TestPolicy, TestCost> costs_;
};

/// Serves the federation's test clients together under those of `policies` for which the algorithm has a community;
/// costs nothing where it has none.
[[nodiscard]] Together serve_together(const Algorithm& algorithm, std::span<const TestPolicy> policies,
                                      const Federation& federation, int labels_per_class, Trainer& trainer,
                                      const Rng& rng, const Memories& memories, StageSeconds& seconds);

}  // namespace feroma
