#include <benchmark/benchmark.h>

#include <vector>

#include "bench/workload.h"
#include "feroma/core/rng.h"
#include "feroma/engine/engine.h"
#include "feroma/models/cost.h"

namespace feroma {
namespace {

constexpr int kBatch = 64;

void BM_Step(benchmark::State& state, EngineKind kind) {
  if (!engine_available(kind)) {
    state.SkipWithError("this build does not have the engine");
    return;
  }
  prepare_worker_thread(kind);
  const ModelSpec spec = lenet5({static_cast<int>(state.range(0)), 28, 28}, 10);
  const auto engine = make_engine(kind, spec);
  Parameters params = initialise(spec, Rng(1));
  const Batch batch = detail::noise_batch(spec, kBatch, engine->layout());
  std::vector<float> gradient(params.size());
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine->gradient(params, batch, gradient));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
  state.counters["flops"] =
      benchmark::Counter(2.0 * step_products(spec) * kBatch, benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(BM_Step, native, EngineKind::native)->ArgName("channels")->Arg(1)->Arg(3);
BENCHMARK_CAPTURE(BM_Step, torch, EngineKind::torch)->ArgName("channels")->Arg(1)->Arg(3);

void BM_Forward(benchmark::State& state, EngineKind kind) {
  if (!engine_available(kind)) {
    state.SkipWithError("this build does not have the engine");
    return;
  }
  prepare_worker_thread(kind);
  const ModelSpec spec = lenet5({static_cast<int>(state.range(0)), 28, 28}, 10);
  const auto engine = make_engine(kind, spec);
  const Parameters params = initialise(spec, Rng(1));
  const Batch batch = detail::noise_batch(spec, kBatch, engine->layout());
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine->forward(params, batch, Latent::flatten));
  }
  state.SetItemsProcessed(state.iterations() * kBatch);
}
BENCHMARK_CAPTURE(BM_Forward, native, EngineKind::native)->ArgName("channels")->Arg(1)->Arg(3);
BENCHMARK_CAPTURE(BM_Forward, torch, EngineKind::torch)->ArgName("channels")->Arg(1)->Arg(3);

}  // namespace
}  // namespace feroma
