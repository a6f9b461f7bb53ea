#include <benchmark/benchmark.h>

#include "feroma/core/rng.h"
#include "feroma/mapping/match.h"

namespace feroma {
namespace {

/// What preset auto sends for LeNet-5 and ten classes: 1 010 coordinates.
const ProfileShape kShape{400, 10, 10, true};

/// Profiles of ten distributions, each seen with the noise of 400 samples.
std::vector<Profile> random_profiles(std::size_t count, std::uint64_t seed) {
  std::vector<Profile> profiles;
  for (std::size_t i = 0; i < count; ++i) {
    Rng kind = Rng(7).derive("kind", i % 10);
    Rng noise = Rng(seed).derive("noise", i);
    std::vector<float> values(kShape.size(), 0.1F);
    for (float& value : values) {
      value += static_cast<float>(kind.uniform() + 0.05 * noise.uniform());
    }
    profiles.push_back(decode(values, kShape, 400));
  }
  return profiles;
}

void BM_Compare(benchmark::State& state, Metric metric) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  const std::vector<Profile> queries = random_profiles(clients, 1);
  const std::vector<Profile> parents = random_profiles(clients, 2);
  const Gauge gauge = fit_gauge(metric, kShape, /*label_free=*/false, {}, parents);
  for (auto _ : state) {
    benchmark::DoNotOptimize(compare(gauge, queries, parents));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(clients * clients));
}
BENCHMARK_CAPTURE(BM_Compare, reliable, Metric::reliable)
    ->ArgName("clients")
    ->Arg(20)
    ->Arg(300)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Compare, euclidean, Metric::euclidean)
    ->ArgName("clients")
    ->Arg(20)
    ->Arg(300)
    ->Unit(benchmark::kMillisecond);

void BM_FitGauge(benchmark::State& state) {
  const std::vector<Profile> profiles = random_profiles(static_cast<std::size_t>(state.range(0)), 1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(fit_gauge(Metric::reliable, kShape, /*label_free=*/false, {}, profiles));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_FitGauge)->ArgName("clients")->Arg(20)->Arg(300)->Unit(benchmark::kMillisecond);

void BM_Weights(benchmark::State& state) {
  const auto clients = static_cast<std::size_t>(state.range(0));
  Rng rng(1);
  Distances distances{Matrix(clients, clients), Matrix(clients, clients)};
  for (double& value : distances.squared.values) {
    value = rng.uniform();
  }
  const WeightRule rule;
  for (auto _ : state) {
    benchmark::DoNotOptimize(weights_of(rule, distances, kernel_width(rule, distances)));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(clients * clients));
}
BENCHMARK(BM_Weights)->ArgName("clients")->Arg(20)->Arg(300)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace feroma
