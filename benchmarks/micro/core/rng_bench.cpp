#include <benchmark/benchmark.h>

#include "feroma/core/rng.h"

namespace feroma {
namespace {

void BM_RngNextU64(benchmark::State& state) {
  Rng rng(42);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.next_u64());
  }
  state.SetBytesProcessed(state.iterations() * 8);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RngNextU64);

void BM_RngNormal(benchmark::State& state) {
  Rng rng(42);
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.normal());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RngNormal);

void BM_RngDerive(benchmark::State& state) {
  const Rng rng(42);
  std::uint64_t client = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.derive("train", ++client, 7));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_RngDerive);

/// A client's shuffle: one epoch over its samples.
void BM_RngPermutation(benchmark::State& state) {
  Rng rng(42);
  const auto size = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    benchmark::DoNotOptimize(rng.permutation(size));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RngPermutation)->ArgName("samples")->Arg(1600)->Arg(60000);

}  // namespace
}  // namespace feroma
