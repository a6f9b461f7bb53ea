#include "feroma/evaluation/test_scores.h"

#include <algorithm>
#include <cmath>

#include "feroma/evaluation/serve.h"

namespace feroma {
namespace {

std::optional<bool> matched(const Predictor& predictor, int distribution, const TrueDistribution& true_distribution) {
  const auto& sources = predictor.sources();
  const auto largest = std::max_element(sources.begin(), sources.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == sources.end() ? std::nullopt : std::optional(true_distribution(largest->first) == distribution);
}

std::unique_ptr<Predictor> served(const Scoring& scoring, TestPolicy policy, const TestShard& shard, ClientId client,
                                  TestTraffic* traffic = nullptr) {
  StageSeconds inner;  // counted as evaluation, not twice
  const View* labelled = policy == TestPolicy::few_label ? &shard.few_labels : nullptr;
  TestContext context{client,          shard.data, labelled,          scoring.rng.derive("test", to_index(client)),
                      scoring.trainer, inner,      &scoring.memories, scoring.disclosure};
  std::unique_ptr<Predictor> predictor = scoring.together != nullptr ? scoring.together->take(policy, client) : nullptr;
  if (predictor == nullptr) {
    predictor = serve(scoring.algorithm, policy, context);
  }
  if (traffic != nullptr) {
    *traffic = context.traffic;
  }
  return predictor;
}

std::optional<double> accuracy_of(const std::unique_ptr<Predictor>& predictor, Trainer& trainer, const View& data) {
  return predictor ? std::optional(score(*predictor, trainer, data).accuracy()) : std::nullopt;
}

}  // namespace

TestScores score_natively(const Scoring& scoring, const TestShard& shard, ClientId client) {
  const StageTimer timer(scoring.seconds, Stage::evaluate);
  TestScores scores;
  const Passes before = scoring.trainer.passes();
  const auto native = served(scoring, TestPolicy::native, shard, client, &scores.native_cost.traffic);
  scores.native = accuracy_of(native, scoring.trainer, shard.data);
  scores.native_cost.samples = static_cast<std::int64_t>(shard.data.size());
  scores.native_cost.passes = scoring.trainer.passes() - before;
  if (native) {
    scores.matched = matched(*native, shard.distribution, scoring.true_distribution);
  }
  return scores;
}

void score_other_policies(const Scoring& scoring, const TestShard& shard, ClientId client, TestScores& scores) {
  const StageTimer timer(scoring.seconds, Stage::evaluate);
  const auto accuracy = [&](TestPolicy policy) {
    return accuracy_of(served(scoring, policy, shard, client), scoring.trainer, shard.data);
  };
  scores.expectation = accuracy(TestPolicy::cluster_expectation);
  scores.known = accuracy(TestPolicy::known_association);
  scores.personal = accuracy(TestPolicy::personal_uniform);
  scores.nearest = accuracy(TestPolicy::nearest_signature);
  scores.few_label = accuracy(TestPolicy::few_label);
}

std::optional<Tally> score_own(const Algorithm& algorithm, ClientId client, const View& view, Trainer& trainer,
                               const Rng& rng, const Memories& memories, StageSeconds& seconds) {
  const StageTimer timer(seconds, Stage::evaluate);
  StageSeconds inner;
  TestContext context{client, view, nullptr, rng, trainer, inner, &memories};
  const auto predictor = serve(algorithm, TestPolicy::known_association, context);
  return predictor ? std::optional(score(*predictor, trainer, view)) : std::nullopt;
}

Spread spread_of(std::span<const double> values) {
  if (values.empty()) {
    return {};
  }
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  Spread spread;
  for (const double value : sorted) {
    spread.mean += value / count;
  }
  for (const double value : sorted) {
    spread.std += (value - spread.mean) * (value - spread.mean) / count;
  }
  spread.std = std::sqrt(spread.std);
  const std::size_t tail = std::max<std::size_t>(1, (sorted.size() + 9) / 10);
  for (std::size_t i = 0; i < tail; ++i) {
    spread.worst10 += sorted[i] / static_cast<double>(tail);
  }
  return spread;
}

}  // namespace feroma
