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

void Together::put(TestPolicy policy, std::vector<std::unique_ptr<Predictor>> predictors) {
  predictors_[policy] = std::move(predictors);
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
    std::vector<std::unique_ptr<Predictor>> predictors = community(contexts);
    require(predictors.size() == shards.size(), ErrorCode::internal,
            "[together] {} test clients need a predictor each, got {}", shards.size(), predictors.size());
    together.put(policy, std::move(predictors));
  }
  return together;
}

}  // namespace feroma
