#include "feroma/evaluation/test_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "feroma/evaluation/serve.h"

namespace feroma {
namespace {

std::optional<bool> matched(const Predictor& predictor, int distribution, const TrueDistribution& true_distribution) {
  const auto& sources = predictor.sources();
  const auto largest = std::max_element(sources.begin(), sources.end(),
                                        [](const auto& a, const auto& b) { return a.second < b.second; });
  return largest == sources.end() ? std::nullopt : std::optional(true_distribution(largest->first) == distribution);
}

std::unique_ptr<Predictor> serve_together_or_alone(const Algorithm& algorithm, TestPolicy policy, TestContext& context,
                                                   Together* together) {
  std::unique_ptr<Predictor> predictor = together != nullptr ? together->take(policy, context.id) : nullptr;
  return predictor ? std::move(predictor) : serve(algorithm, policy, context);
}

}  // namespace

TestScores score_test_client(const Algorithm& algorithm, const TestShard& shard, ClientId client, Trainer& trainer,
                             const Rng& rng, const Memories& memories, const TrueDistribution& true_distribution,
                             StageSeconds& seconds, Together* together, Disclosure* disclosure) {
  const StageTimer timer(seconds, Stage::evaluate);
  TestScores scores;
  const auto served = [&](TestPolicy policy, TestTraffic* traffic = nullptr) {
    StageSeconds inner;  // counted as evaluation, not twice
    const View* labelled = policy == TestPolicy::few_label ? &shard.few_labels : nullptr;
    TestContext context{client,  shard.data, labelled,  rng.derive("test", to_index(client)),
                        trainer, inner,      &memories, disclosure};
    std::unique_ptr<Predictor> predictor = serve_together_or_alone(algorithm, policy, context, together);
    if (traffic != nullptr) {
      *traffic = context.traffic;
    }
    return predictor;
  };
  const auto accuracy = [&](const std::unique_ptr<Predictor>& predictor) -> std::optional<double> {
    return predictor ? std::optional(score(*predictor, trainer, shard.data).accuracy()) : std::nullopt;
  };
  const Passes before = trainer.passes();
  const auto native = served(TestPolicy::native, &scores.native_cost.traffic);
  scores.native = accuracy(native);
  scores.native_cost.samples = static_cast<std::int64_t>(shard.data.size());
  scores.native_cost.passes = trainer.passes() - before;
  if (native) {
    scores.matched = matched(*native, shard.distribution, true_distribution);
  }
  scores.expectation = accuracy(served(TestPolicy::cluster_expectation));
  scores.known = accuracy(served(TestPolicy::known_association));
  scores.personal = accuracy(served(TestPolicy::personal_uniform));
  scores.nearest = accuracy(served(TestPolicy::nearest_signature));
  scores.few_label = accuracy(served(TestPolicy::few_label));
  return scores;
}

double score_native(const Algorithm& algorithm, const TestShard& shard, ClientId client, Trainer& trainer,
                    const Rng& rng, const Memories& memories, StageSeconds& seconds, Together* together,
                    Disclosure* disclosure) {
  const StageTimer timer(seconds, Stage::evaluate);
  StageSeconds inner;
  TestContext context{client,  shard.data, nullptr,   rng.derive("test", to_index(client)),
                      trainer, inner,      &memories, disclosure};
  const auto predictor = serve_together_or_alone(algorithm, TestPolicy::native, context, together);
  return predictor ? score(*predictor, trainer, shard.data).accuracy() : std::numeric_limits<double>::quiet_NaN();
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
