#include "feroma/evaluation/together.h"

#include "feroma/core/error.h"

namespace feroma {
namespace {

std::vector<TestShard> all_shards(const Federation& federation, int labels_per_class) {
  std::vector<TestShard> shards;
  for (std::size_t i = 0; i < federation.test_clients(); ++i) {
    shards.push_back(federation.test(static_cast<ClientId>(i), labels_per_class));
  }
  return shards;
}

}  // namespace

void Together::put(TestPolicy policy, std::vector<std::unique_ptr<Predictor>> predictors, const TestCost& cost) {
  predictors_[policy] = std::move(predictors);
  costs_[policy] = cost;
}

TestCost Together::cost(TestPolicy policy) const {
  const auto found = costs_.find(policy);
  return found == costs_.end() ? TestCost{} : found->second;
}

std::unique_ptr<Predictor> Together::take(TestPolicy policy, ClientId client) {
  const auto found = predictors_.find(policy);
  return found == predictors_.end() ? nullptr : std::move(found->second.at(to_index(client)));
}

Together serve_together(const Algorithm& algorithm, std::span<const TestPolicy> policies, const Federation& federation,
                        int labels_per_class, Trainer& trainer, const Rng& rng, const Memories& memories,
                        StageSeconds& seconds) {
  const StageTimer timer(seconds, Stage::evaluate);
  StageSeconds inner;  // counted as evaluation, not twice
  std::vector<TestShard> shards;
  Together together;
  for (const TestPolicy policy : policies) {
    const Community community = algorithm.community(policy);
    if (!community) {
      continue;
    }
    if (shards.empty()) {
      shards = all_shards(federation, labels_per_class);
    }
    std::vector<TestContext> contexts;
    for (std::size_t i = 0; i < shards.size(); ++i) {
      const View* labelled = policy == TestPolicy::few_label ? &shards[i].few_labels : nullptr;
      contexts.push_back(
          {static_cast<ClientId>(i), shards[i].data, labelled, rng.derive("test", i), trainer, inner, &memories});
    }
    const Passes before = trainer.passes();
    std::vector<std::unique_ptr<Predictor>> predictors = community(contexts);
    TestCost cost{0, trainer.passes() - before, {}};
    for (const TestContext& context : contexts) {
      cost += {0, {}, context.traffic};
    }
    require(predictors.size() == shards.size(), ErrorCode::internal,
            "[together] {} test clients need a predictor each, got {}", shards.size(), predictors.size());
    together.put(policy, std::move(predictors), cost);
  }
  return together;
}

}  // namespace feroma
