#include <benchmark/benchmark.h>

#include "feroma/aggregation/mix.h"
#include "feroma/core/rng.h"
#include "feroma/models/spec.h"

namespace feroma {
namespace {

std::vector<ParametersPtr> random_models(std::size_t count) {
  const ModelSpec spec = lenet5({3, 28, 28}, 10);
  std::vector<ParametersPtr> models;
  for (std::size_t i = 0; i < count; ++i) {
    models.push_back(share(initialise(spec, Rng(i))));
  }
  return models;
}

/// `rows` mixtures of `clients` LeNet-5 models; `percent` of the weights are not zero.
void BM_Mix(benchmark::State& state) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  const auto rows = static_cast<std::size_t>(state.range(1));
  const double share = static_cast<double>(state.range(2)) / 100;
  const auto models = random_models(clients);
  Rng rng(1);
  std::vector<float> weights(rows * clients);
  for (float& weight : weights) {
    weight = rng.bernoulli(share) ? 1.0F / static_cast<float>(clients) : 0.0F;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(mix(models, weights));
  }
  const double products = share * static_cast<double>(rows * clients * models.front()->size());
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(rows));
  state.counters["flops"] = benchmark::Counter(2 * products, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(BM_Mix)
    ->ArgNames({"clients", "rows", "percent"})
    ->Args({20, 1, 100})
    ->Args({20, 20, 100})
    ->Args({20, 20, 20})
    ->Args({300, 300, 100})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feroma
